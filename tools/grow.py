"""Make a run with a deeper encoder from a trained one: it translates the same, and can learn more.

    python -m tools.grow RUN NEW_RUN --encoder-layers 6
    nmt train RECIPE --init-from NEW_RUN --set model.encoder_layers=6

New layers are spread among the old ones. Each is a copy of the layer before it whose sub-layers
end in zeros, so that at first it adds nothing, as in Net2Net (Chen et al. 2016,
https://arxiv.org/abs/1511.05641). Only for Transformers with the norm before each sub-layer.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.files import replacing_folder
from nmt_cli.host import import_keras
from nmt_cli.training import RUN
from nmt_cli.training.checkpoint import (
    TrainingState,
    inference_weights,
    read_checkpoint,
    save_checkpoint,
)
from nmt_cli.training.run import Run

# The ends of a layer's sub-layers, which are added to its input.
ENDS = ("attention/output/", "feed_forward/outer/")


def origins(old: int, new: int) -> list[tuple[int, bool]]:
    """For each new layer, the old one that it copies, and whether it is that layer itself.

    >>> origins(2, 5)
    [(0, True), (0, False), (0, False), (1, True), (1, False)]
    """
    copied = [place * old // new for place in range(new)]
    return [(layer, layer not in copied[:place]) for place, layer in enumerate(copied)]


def grow(folder: Path, output: Path, layers: int) -> None:
    """Write the grown run.

    Raises:
        NmtError: the run cannot be read or has other layers, or the new one exists.
    """
    run = Run.open(folder)
    config = run.recipe.model
    if config.architecture != "transformer" or getattr(config, "norm", "") != "pre":
        raise NmtError(f"{folder}: its model is not a Transformer with model.norm = 'pre'")
    if layers <= config.encoder_layers:
        raise NmtError(f"{folder}: its encoder has {config.encoder_layers} layers already")
    if output.exists():
        raise NmtError(f"{output}: exists", "choose another name")
    import_keras()
    from nmt_cli.training.model import new_model

    arrays, progress = read_checkpoint(run.preferred)
    weights = inference_weights(arrays)
    recipe = replace(run.recipe, model=replace(config, encoder_layers=layers))
    steps = progress.step + run.initial.get("steps", 0)
    initial = {"name": recipe.label, "steps": steps, "sources": run.provenance()["sources"]}
    with replacing_folder(output, RUN) as work:
        grown = replace(run, folder=work, recipe=recipe, prepared_key="", pairs={}, initial=initial)
        grown.write(folder / "tokenizer", *run.held_out())
        model = new_model(grown)
        places = origins(config.encoder_layers, layers)
        for weight in model.weights:
            layer, _, rest = weight.path.partition("/")
            kept = True
            if layer.startswith("encoder_") and layer != "encoder_norm":
                place, kept = places[int(layer.removeprefix("encoder_"))]
                layer = f"encoder_{place}"
            weight.assign(weights[f"weights/{layer}/{rest}"] * (kept or not rest.startswith(ENDS)))
        save_checkpoint(grown.best, model, TrainingState())


def main() -> None:
    """Parse the command line and grow a run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--encoder-layers", type=int, required=True)
    options = parser.parse_args()
    try:
        grow(options.run, options.output, options.encoder_layers)
    except NmtError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
