"""What a recipe would build, and what training it would take on this machine; needs no data."""

import statistics
import time
from pathlib import Path
from typing import Any

import keras

from nmt_cli.host import peak_memory
from nmt_cli.recipe.config import Recipe
from nmt_cli.training.model import compiled_model, new_model, train_on_random_tokens
from nmt_cli.training.run import Run

WIDTH = 32  # tokens; a batch has as many rows as its budget allows
DEFAULT_BATCH = 4096  # tokens, where the recipe leaves them to the machine
WARM, TIMED = 2, 5  # steps: TensorFlow traces the first one


def forecast(recipe: Recipe) -> dict[str, Any]:
    """Build a recipe's model and train a few steps on random tokens.

    Both vocabularies are assumed to have ``tokenizer.vocab_size`` entries. The memory is the peak
    of this process, frameworks included.

    Returns:
        JSON values: sizes, the layers, Keras' own summary as text, the peak memory, the seconds of
        a step, and the hours of ``training.max_steps`` steps.
    """
    vocabulary, config = recipe.tokenizer.vocab_size, recipe.training
    run = Run(Path(), recipe, vocabulary, vocabulary, "")
    model = new_model(run)  # without the optimizer's state, which a summary would count
    lines: list[str] = []
    model.summary(print_fn=lambda line, line_break=False: lines.append(line))
    tokens = config.batch_tokens or DEFAULT_BATCH
    seconds = _seconds_per_step(run, tokens)
    return {
        "kind": "recipe",
        "name": recipe.label,
        "source": recipe.data.source,
        "target": recipe.data.target,
        "parameters": model.count_params(),
        "vocabulary": vocabulary,
        "batch_tokens": tokens,
        "peak_bytes": peak_memory(),
        "seconds_per_step": seconds,
        "steps": config.max_steps,
        "hours": seconds * config.accumulate * config.max_steps / 3600,
        "layers": [_layer(each) for each in model.layers],
        "summary_table": "\n".join(lines),
    }


def _seconds_per_step(run: Run, tokens: int) -> float:
    """The median time of a step with a full batch of random tokens."""
    model, copies = compiled_model(run), run.recipe.training.copies
    width = min(WIDTH, run.recipe.data.max_tokens)
    rows = max(1, tokens // (width * copies)) * copies
    seconds = []
    for _ in range(WARM + TIMED):
        began = time.perf_counter()
        train_on_random_tokens(model, run, rows, width)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[WARM:])


def _layer(layer: keras.Layer) -> dict[str, Any]:
    output = layer.output
    shapes = [each.shape for each in (output if isinstance(output, list | tuple) else [output])]
    return {
        "name": layer.name,
        "class": type(layer).__name__,
        "parameters": layer.count_params(),
        "outputs": [list(each) for each in shapes],
    }
