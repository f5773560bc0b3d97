"""nmt prepare, nmt train and nmt average: from text to a run."""

from pathlib import Path

import click

from nmt_cli.cli.options import (
    DEFAULT_RECIPE,
    PATH,
    PREPARED,
    find_recipe,
    find_run,
    option_group,
    say,
    set_option,
)
from nmt_cli.training.job import TrainOptions, run_training


@click.command(epilog="\b\nExample: nmt prepare docs-pt-en --set data.root=corpora")
@click.argument("recipe")
@set_option
@click.option("-o", "--output", type=PATH, help="Folder to write; default: prepared/NAME.")
@click.option("--force", is_flag=True, help="Prepare again even if the folder is up to date.")
def prepare(recipe: str, overrides: tuple[str, ...], output: Path | None, force: bool) -> None:
    """Clean RECIPE's text, learn its vocabulary, write token arrays.

    A second run with the same inputs does nothing.
    """
    from nmt_cli.data.prepare import prepare as prepare_data

    loaded = find_recipe(recipe, overrides)
    prepare_data(loaded, output or PREPARED / loaded.label, force)


@click.command(epilog="\b\nExample: nmt train docs-pt-en --set data.root=corpora --resume")
@click.argument("recipe", default=DEFAULT_RECIPE)
@set_option
@option_group(TrainOptions, "options")
def train(recipe: str, overrides: tuple[str, ...], options: TrainOptions) -> None:
    """Train a model from RECIPE (default: ted-pt-en).

    Ctrl-C saves a checkpoint; --resume continues from it.
    """
    command = ["nmt", "train", recipe]
    command += [word for each in overrides for word in ("--set", each)]
    folder = run_training(find_recipe(recipe, overrides), options, command)
    if not options.process_id:
        say(f"run written to {folder}; next: nmt export {folder} --onnx")


@click.command(epilog="\b\nExample: nmt average runs/docs-pt-en --last 3")
@click.argument("run", required=False, type=PATH)
@click.option(
    "--last",
    type=click.IntRange(2),
    help="Number of newest checkpoints to average; default: all that the run keeps.",
)
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    type=PATH,
    help="Average these files instead; repeatable.",
)
@click.option("-o", "--output", type=PATH, help="Checkpoint to write; default: RUN/average.npz.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def average(
    run: Path | None,
    last: int | None,
    checkpoints: tuple[Path, ...],
    output: Path | None,
    force: bool,
) -> None:
    """Average checkpoints of RUN (default: the newest run) into one.

    The mean of a training's last checkpoints often translates better than each of them. Export
    it with nmt export --checkpoint.
    """
    from nmt_cli.training.averaging import average_run
    from nmt_cli.training.run import Run

    folder = find_run(run)
    place, paths = average_run(Run.open(folder), last, checkpoints, output, force)
    names = ", ".join(path.name for path in paths)
    say(f"{place}: average of {names}; next: nmt export {folder} --checkpoint {place} --onnx")
