"""nmt train."""

import shlex
from dataclasses import replace
from functools import partial
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
from nmt_cli.errors import NmtError
from nmt_cli.frameworks import import_keras


@click.command(epilog="\b\nExample: nmt train docs-pt-en --set data.root=corpora --resume")
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
@click.option(
    "--devices",
    type=click.IntRange(1, 1024),
    help="How many accelerators share each batch, or parts of the CPU's cores.  [default: 1; "
    "with TensorFlow on a CPU as many parts as are worth it]",
)
@click.option(
    "--coordinator",
    metavar="HOST:PORT",
    help="Address of process 0, to train in several processes; needs JAX.",
)
@click.option("--processes", type=click.IntRange(1), metavar="N", help="How many in all.")
@click.option("--process-id", type=click.IntRange(0), metavar="I", help="Which of them: 0 to N-1.")
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
    """Train a model by RECIPE (default: ted-pt-en).

    Ctrl-C saves a checkpoint; --resume goes on from it.
    """
    if resume and force:
        raise click.UsageError("give one of --resume and --force")
    trio = (coordinator, processes, process_id)
    if any(each is not None for each in trio) and None in trio:
        raise click.UsageError("--coordinator, --processes and --process-id go together")
    loaded = find_recipe(recipe, overrides)
    folder = output or RUNS / loaded.label
    if (folder / "run.json").exists() and not (resume or force):
        raise NmtError(
            f"{folder}: holds a run already", "go on with --resume, or replace it with --force"
        )
    import_keras()
    from nmt_cli.data.prepare import prepare
    from nmt_cli.data.prepared import Prepared
    from nmt_cli.training.cluster import connect, wait
    from nmt_cli.training.cores import cpu_devices
    from nmt_cli.training.devices import Devices, check_options, check_present
    from nmt_cli.training.run import Run
    from nmt_cli.training.train import train as train_model

    used = Devices(devices or 1, coordinator or "", processes or 1, process_id or 0)
    check_options(used)
    run = Run.open(folder) if resume else None
    if devices is None:
        used = replace(used, count=cpu_devices(loaded, run.devices if run else 0))
    connect(used)
    check_present(used, loaded.training.accumulate)
    place = prepared or PREPARED / loaded.label
    if used.leads:
        # A run that is not to be gone on with leaves its data alone too.
        check = partial(run.check_resumable, loaded) if run else None
        prepare(loaded, place, say=say, check=check)
    wait(used, "prepared")
    try:
        train_model(loaded, Prepared.open(place), folder, resume, say, used)
    except KeyboardInterrupt as stop:
        again = ["nmt", "train", recipe]
        again += [word for each in overrides for word in ("--set", each)]
        again += ["-o", str(output)] if output else []
        again += ["--prepared", str(prepared)] if prepared else []
        again += ["--devices", str(devices)] if devices else []
        if coordinator:
            again += ["--coordinator", coordinator]
            again += ["--processes", str(processes), "--process-id", str(process_id)]
        step = stop.args[0] if stop.args else None
        if step is None:
            raise
        raise KeyboardInterrupt(
            f"stopped at step {step:,}; checkpoint saved; go on with: "
            + shlex.join([*again, "--resume"])
        ) from None
    if used.leads:
        say(f"run written to {folder}; next: nmt export {folder} --onnx")
