"""The job of ``nmt train``: set up devices, prepare the data if needed, train or resume."""

import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from nmt_cli.errors import NmtError, OptionError
from nmt_cli.frameworks import import_keras
from nmt_cli.recipe.config import Recipe


def run_training(
    recipe: Recipe,
    folder: Path,
    prepared: Path,
    *,
    resume: bool = False,
    force: bool = False,
    devices: int | None = None,
    coordinator: str | None = None,
    processes: int | None = None,
    process_id: int | None = None,
    command: Sequence[str] = ("nmt", "train"),
    say: Callable[[str], None] = print,
) -> None:
    """Prepare the data if needed and train, in one process or together with others.

    Args:
        recipe: what to train and how.
        folder: run folder to write.
        prepared: folder of the prepared data, which is made if it is not up to date.
        resume: continue an interrupted run.
        force: replace an existing run.
        devices: devices of this process; None: choose.
        coordinator, processes, process_id: as in :class:`nmt_cli.training.devices.Devices`; None
            for a single process.
        command: shown with --resume when a signal stops the training.
        say: receives messages for the user.

    Raises:
        OptionError: options contradict each other.
        NmtError: there is a run already, or none to resume; the data cannot be prepared; devices
            are missing; as :func:`nmt_cli.training.train.train`.
        KeyboardInterrupt: a signal stopped the training; the argument is the command to continue.
    """
    if resume and force:
        raise OptionError("give one of `resume` and `force`")
    if len({each is None for each in (coordinator, processes, process_id)}) > 1:
        raise OptionError("`coordinator`, `processes` and `process_id` go together")
    if (folder / "run.json").exists() and not (resume or force):
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

    run = Run.open(folder) if resume else None
    used = Devices(devices or 0, coordinator or "", processes or 1, process_id or 0)
    used = set_up(used, recipe, run.devices if run else 0)
    with reporting_losses(used):
        if used.is_main:
            # A run that cannot be resumed must not change its data either.
            check = partial(run.check_resumable, recipe) if run else None
            prepare(recipe, prepared, say=say, check=check)
        wait(used)
        try:
            train(recipe, Prepared.open(prepared), folder, resume, say, used)
        except KeyboardInterrupt as stop:
            if not stop.args:  # before there was anything to save
                raise
            disconnect(used)
            raise KeyboardInterrupt(
                f"stopped at step {stop.args[0]:,}; checkpoint saved; continue with: "
                f"{shlex.join([*command, '--resume'])}"
            ) from None
        disconnect(used)
