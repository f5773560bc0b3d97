"""The job of ``nmt train``: set up devices, prepare the data if needed, train or resume."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.frameworks import import_keras
from nmt_cli.recipe.config import Recipe


@dataclass(frozen=True)
class TrainOptions:
    """What to train, where, and on what.

    Attributes:
        recipe: the recipe, with overrides applied.
        folder: run folder to write.
        prepared: folder of the prepared data, which is made if it is not up to date.
        resume: continue an interrupted run.
        force: replace an existing run.
        devices: devices of this process; 0: choose.
        coordinator: HOST:PORT of process 0; empty for a single process.
        processes: number of processes.
        process_id: number of this process, from 0.
        command: the words of the command line without --resume and --force; shown with --resume
            when a signal stops the training.
    """

    recipe: Recipe
    folder: Path
    prepared: Path
    resume: bool = False
    force: bool = False
    devices: int = 0
    coordinator: str = ""
    processes: int = 1
    process_id: int = 0
    command: tuple[str, ...] = ("nmt", "train")


def run_training(options: TrainOptions, say: Callable[[str], None] = print) -> None:
    """Prepare the data if needed and train, alone or with other processes.

    Raises:
        NmtError: there is a run already, or none to resume; the data cannot be prepared; devices
            are missing; as :func:`nmt_cli.training.train.train`.
        KeyboardInterrupt: a signal stopped the training; the argument is the command to continue.
    """
    folder, recipe = options.folder, options.recipe
    if (folder / "run.json").exists() and not (options.resume or options.force):
        raise NmtError(
            f"{folder}: a run already exists", "continue with --resume, or replace it with --force"
        )
    import_keras()
    from nmt_cli.data.prepare import prepare
    from nmt_cli.data.prepared import Prepared
    from nmt_cli.training.cluster import disconnect, reporting_losses, wait
    from nmt_cli.training.devices import Devices
    from nmt_cli.training.run import Run
    from nmt_cli.training.setup import set_up
    from nmt_cli.training.train import train

    run = Run.open(folder) if options.resume else None
    devices = Devices(options.devices, options.coordinator, options.processes, options.process_id)
    devices = set_up(devices, recipe, run.devices if run else 0)
    with reporting_losses(devices):
        if devices.is_main:
            # A run that cannot be resumed must not change its data either.
            check = partial(run.check_resumable, recipe) if run else None
            prepare(recipe, options.prepared, say=say, check=check)
        wait(devices, "prepared")
        try:
            train(recipe, Prepared.open(options.prepared), folder, options.resume, say, devices)
        except KeyboardInterrupt as stop:
            if not stop.args:  # before there was anything to save
                raise
            disconnect(devices)
            raise KeyboardInterrupt(
                f"stopped at step {stop.args[0]:,}; checkpoint saved; continue with: "
                f"{shlex.join([*options.command, '--resume'])}"
            ) from None
        disconnect(devices)
