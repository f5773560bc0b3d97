"""A side of benchmarks/train.py: reads numbers of steps from stdin, writes times to stdout.

    python benchmarks/train_sides.py FOLDER SIDE ATTENTION DEVICES SOURCE_VOCAB TARGET_VOCAB

FOLDER holds recipe.toml and prepared/; SIDE is e.g. "nmt float32" or "compiled bfloat16";
DEVICES is the number of devices of nmt; 0 for the default of nmt train.
"""

import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

# Before TensorFlow: nmt_cli sets its switches.
from nmt_cli.data.batches import Batch, Batches, Epochs, Position
from nmt_cli.data.prepared import Prepared
from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.reading import load_recipe
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID

PRODUCT, PRODUCTS = (2048, 1024, 1024), 8  # its size, and how often it is timed in each turn
Sequence = Iterator[tuple[Position, Batch, Position]]


class Turns:
    """The protocol of a side: read the number of steps, answer with their times."""

    def __init__(self, product: Callable[[], object]) -> None:
        self._product = product

    def begin(self) -> int:
        """Read the number of steps to do; 0 to stop."""
        self.left, self._tokens, self._input = int(sys.stdin.readline() or 0), 0, 0.0
        self.start()
        return self.left

    def start(self) -> None:
        self._began = time.perf_counter()

    def stepped(self, tokens: int, input_seconds: float = 0.0) -> None:
        self.left -= 1
        self._tokens += tokens
        self._input += input_seconds

    def answer(self, traces: int = 0) -> None:
        seconds, products = time.perf_counter() - self._began, []
        for _ in range(PRODUCTS):
            began = time.perf_counter()
            self._product()
            products.append(time.perf_counter() - began)
        answer = {"seconds": seconds, "product": statistics.median(products), "traces": traces}
        print(json.dumps({**answer, "tokens": self._tokens, "input": self._input}), flush=True)


def nmt_side(
    recipe: Recipe, prepared: Prepared, vocab: list[int], precision: str, count: int
) -> None:
    import keras
    import tensorflow as tf

    from nmt_cli.data.batches import training_batches
    from nmt_cli.training.devices import BatchFeed, Devices, cpu_devices
    from nmt_cli.training.model import compiled_model
    from nmt_cli.training.run import Run
    from nmt_cli.training.session import AsyncCallbacks

    policy = precision if precision == "float32" else f"mixed_{precision}"
    recipe = replace(recipe, training=replace(recipe.training, precision=policy))
    devices = Devices(cpu_devices(recipe, count))
    model = compiled_model(Run(*vocab, "", folder=Path(), recipe=recipe), devices)
    feed = BatchFeed(lambda: sequence(training_batches(recipe, prepared))[1], devices)
    a, b = tf.random.normal(PRODUCT[:2]), tf.random.normal(PRODUCT[1:])
    turns, traces = Turns(lambda: tf.matmul(a, b).numpy()), [0]
    step = model.train_step

    def traced(data: Any) -> Any:
        traces[0] += 1
        return step(data)

    model.train_step = traced  # Python runs it once per trace

    class Answer(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            fed = feed.records.popleft()
            turns.stepped(fed.tokens, fed.seconds)
            if not turns.left:
                float(logs["loss"])  # waits for the device
                turns.answer(traces[0])
                self.model.stop_training = not turns.begin()

    turns.begin()
    data, callbacks = feed.dataset(), AsyncCallbacks([Answer()], add_history=True, model=model)
    model.fit(data, steps_per_epoch=10**9, callbacks=callbacks, shuffle=False, verbose=0)


def marian_config(recipe: Recipe, vocab: list[int], attention: str = "sdpa") -> Any:
    """A MarianConfig of a recipe's sizes; ``vocab``: of the source and of the target."""
    from transformers import MarianConfig

    model = recipe.model
    return MarianConfig(
        vocab_size=vocab[0],
        decoder_vocab_size=vocab[1],
        d_model=model.d_model,
        encoder_layers=model.encoder_layers,
        decoder_layers=model.decoder_layers,
        encoder_ffn_dim=model.feed_forward,
        decoder_ffn_dim=model.feed_forward,
        encoder_attention_heads=model.heads,
        decoder_attention_heads=model.heads,
        activation_function="relu",
        dropout=model.dropout,
        attention_dropout=model.attention_dropout,
        activation_dropout=model.activation_dropout,
        static_position_embeddings=True,
        scale_embedding=True,
        share_encoder_decoder_embeddings=model.embeddings in ("all", "source-target"),
        tie_word_embeddings=model.embeddings in ("all", "target-softmax"),
        pad_token_id=PAD_ID,
        eos_token_id=END_ID,
        forced_eos_token_id=END_ID,
        decoder_start_token_id=START_ID,
        use_cache=False,
        attn_implementation=attention,
    )


def torch_side(
    recipe: Recipe,
    prepared: Prepared,
    vocab: list[int],
    precision: str,
    attention: str,
    compiled: bool,
) -> None:
    import torch
    from torch.nn.functional import cross_entropy
    from transformers import MarianMTModel

    config = marian_config(recipe, vocab, attention)
    model = MarianMTModel(config).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    forward = torch.compile(model, dynamic=True) if compiled else model
    training = recipe.training
    epochs = Epochs(  # the same as training_batches, without Keras
        lambda epoch: Batches(*prepared.arrays("train"), training.batch_tokens, recipe.seed)
    )
    batches = sequence(epochs)[1]

    def step(source: Any, target_in: Any, target_out: Any) -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            logits = forward(
                input_ids=source, attention_mask=source != PAD_ID, decoder_input_ids=target_in
            ).logits
        loss = cross_entropy(
            logits.float().flatten(0, 1),
            target_out.flatten(),
            ignore_index=PAD_ID,
            label_smoothing=training.label_smoothing,
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    a, b = torch.randn(PRODUCT[:2]), torch.randn(PRODUCT[1:])
    turns = Turns(lambda: a @ b)
    while steps := turns.begin():
        made = [
            [torch.from_numpy(array).long() for array in batch]
            for _, batch, _ in itertools.islice(batches, steps)
        ]
        turns.start()
        for arrays in made:
            step(*arrays)
            turns.stepped(int((arrays[2] != PAD_ID).sum()))
        turns.answer()


def sequence(epochs: Epochs) -> tuple[int, Sequence]:
    """The number of batch shapes; one batch of each, then the epochs' batches in order."""
    first = dict(reversed(epochs.order(0)))
    make = epochs.batches(0).make
    shapes = ((Position(), make(*width_and_rows), Position()) for width_and_rows in first.items())
    return len(first), itertools.chain(shapes, epochs.starting_at(Position()))


def main(place: str, side: str, attention: str, devices: str, *sizes: str) -> None:
    kind, precision = side.split()
    recipe = load_recipe(Path(place) / "recipe.toml")
    given = recipe, Prepared.open(Path(place) / "prepared"), [int(size) for size in sizes]
    if kind == "nmt":
        nmt_side(*given, precision, int(devices))
    else:
        torch_side(*given, precision, attention, compiled=kind == "compiled")


if __name__ == "__main__":
    main(*sys.argv[1:])
