"""nmt average."""

from pathlib import Path

import click

from nmt_cli.cli.options import find_run, say
from nmt_cli.errors import NmtError


@click.command(epilog="\b\nExample: nmt average runs/docs-pt-en --last 3")
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option(
    "--last",
    type=click.IntRange(2),
    help="Average so many of the newest checkpoints; default: all that the run keeps.",
)
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Average these instead; repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Checkpoint to write; default: RUN/average.npz.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
def average(
    run: Path | None,
    last: int | None,
    checkpoints: tuple[Path, ...],
    output: Path | None,
    force: bool,
) -> None:
    """Average checkpoints of RUN (default: the newest run) into one.

    The mean of a training's last checkpoints often translates better than any of them. Give
    it to nmt export with --checkpoint.
    """
    if last and checkpoints:
        raise click.UsageError("give one of --last and --checkpoint")
    folder = find_run(run)
    from nmt_cli.training.checkpoint import average_checkpoints
    from nmt_cli.training.run import Run

    opened = Run.open(folder)
    paths = list(checkpoints) or opened.checkpoints()[-(last or 0) :]
    if len(paths) < max(2, last or 0):
        raise NmtError(
            f"{folder}: {len(paths)} checkpoint(s) to average, {max(2, last or 0)} needed",
            "train with a larger training.keep, or name files with --checkpoint",
        )
    place = output or opened.average
    if place.exists() and not force:
        raise NmtError(f"{place}: exists already", "replace it with --force")
    average_checkpoints(paths, place)
    names = ", ".join(path.name for path in paths)
    say(f"{place}: the mean of {names}; next: nmt export {folder} --checkpoint {place} --onnx")
