"""nmt train."""

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


@click.command(epilog="\b\nExample: nmt train docs-pt-en --set data.root=corpora --resume")
@recipe_argument(required=False)
@set_option()
@output_option("Run folder to write; default: runs/NAME.")
@click.option(
    "--prepared",
    type=click.Path(path_type=Path),
    help="Folder of the prepared data; default: prepared/NAME, made when needed.",
)
@click.option("--resume", is_flag=True, help="Continue from the run's last checkpoint.")
@click.option("--force", is_flag=True, help="Replace an existing run.")
@click.option(
    "--devices",
    type=click.IntRange(1, 1024),
    help="Number of accelerators, or of parts of the CPU's cores, that share each batch.  "
    "[default: 1; with TensorFlow on a CPU, as many parts as pay off]",
)
@click.option(
    "--coordinator",
    metavar="HOST:PORT",
    help="Address of process 0, to train in several processes; needs JAX.",
)
@click.option("--processes", type=click.IntRange(1), metavar="N", help="Number of processes.")
@click.option(
    "--process-id", type=click.IntRange(0), metavar="I", help="Number of this process: 0 to N-1."
)
def train(
    recipe: str,
    overrides: tuple[str, ...],
    output: Path | None,
    prepared: Path | None,
    resume: bool,
    force: bool,
    devices: int | None,
    coordinator: str | None,
    processes: int | None,
    process_id: int | None,
) -> None:
    """Train a model from RECIPE (default: ted-pt-en).

    Ctrl-C saves a checkpoint; --resume continues from it.
    """
    from nmt_cli.training.job import run_training

    loaded = find_recipe(recipe, overrides)
    folder = output or RUNS / loaded.label
    given = {
        "-o": output,
        "--prepared": prepared,
        "--devices": devices,
        "--coordinator": coordinator,
        "--processes": processes,
        "--process-id": process_id,
    }
    command = ["nmt", "train", recipe]
    command += [word for each in overrides for word in ("--set", each)]
    command += [word for pair in given.items() if pair[1] is not None for word in map(str, pair)]
    run_training(
        loaded,
        folder,
        prepared or PREPARED / loaded.label,
        resume=resume,
        force=force,
        devices=devices,
        coordinator=coordinator,
        processes=processes,
        process_id=process_id,
        command=command,
        say=say,
    )
    if not process_id:
        say(f"run written to {folder}; next: nmt export {folder} --onnx")
