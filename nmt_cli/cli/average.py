"""nmt average."""

from pathlib import Path

import click

from nmt_cli.cli.options import find_run, say


@click.command(epilog="\b\nExample: nmt average runs/docs-pt-en --last 3")
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option(
    "--last",
    type=click.IntRange(2),
    help="Number of newest checkpoints to average; default: all that the run keeps.",
)
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Average these files instead; repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Checkpoint to write; default: RUN/average.npz.",
)
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
    from nmt_cli.training.average import average_run
    from nmt_cli.training.run import Run

    folder = find_run(run)
    place, paths = average_run(Run.open(folder), last, checkpoints, output, force)
    names = ", ".join(path.name for path in paths)
    say(f"{place}: average of {names}; next: nmt export {folder} --checkpoint {place} --onnx")
