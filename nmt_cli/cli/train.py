"""nmt train."""

import shlex
from pathlib import Path

import click

from nmt_cli.cli.options import (
    PREPARED,
    RUNS,
    find_recipe,
    output_option,
    recipe_argument,
    say,
    set_option,
)
from nmt_cli.cli.quiet import import_keras
from nmt_cli.errors import NmtError


@click.command(epilog="Example: nmt train docs-pt-en --set data.root=corpora --resume")
@recipe_argument(required=False)
@set_option()
@output_option("Run folder to write; default: runs/NAME.")
@click.option(
    "--prepared",
    type=click.Path(path_type=Path),
    help="Folder of the prepared data; default: prepared/NAME, made when needed.",
)
@click.option("--resume", is_flag=True, help="Go on from the run's last checkpoint.")
@click.option("--force", is_flag=True, help="Replace a run that is there already.")
def train(
    recipe: str,
    overrides: tuple[str, ...],
    output: Path | None,
    prepared: Path | None,
    resume: bool,
    force: bool,
) -> None:
    """Train a Transformer by RECIPE (default: ted-pt-en).

    Ctrl-C saves a checkpoint; --resume goes on from it.
    """
    if resume and force:
        raise click.UsageError("give one of --resume and --force")
    loaded = find_recipe(recipe, overrides)
    folder = output or RUNS / loaded.label
    if (folder / "run.json").exists() and not (resume or force):
        raise NmtError(
            f"{folder}: holds a run already", "go on with --resume, or replace it with --force"
        )
    import_keras()
    from nmt_cli.data.prepare import prepare
    from nmt_cli.training.train import train as train_model

    data = prepare(loaded, prepared or PREPARED / loaded.label, say=say)
    try:
        train_model(loaded, data, folder, resume, say)
    except KeyboardInterrupt as stop:
        again = ["nmt", "train", recipe]
        again += [word for each in overrides for word in ("--set", each)]
        again += ["-o", str(output)] if output else []
        again += ["--prepared", str(prepared)] if prepared else []
        step = stop.args[0] if stop.args else None
        if step is None:
            raise
        raise KeyboardInterrupt(
            f"stopped at step {step:,}; checkpoint saved; go on with: "
            + shlex.join([*again, "--resume"])
        ) from None
    say(f"run written to {folder}; next: nmt export {folder} --onnx")
