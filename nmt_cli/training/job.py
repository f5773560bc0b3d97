"""The job of ``nmt train``: set up devices, prepare the data if needed, train or resume."""

import logging
import shlex
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from nmt_cli.errors import ModelError, OptionError, OutputError
from nmt_cli.files import locked
from nmt_cli.host import import_keras
from nmt_cli.options import NonNegativeInt, PositiveInt, option
from nmt_cli.training import RUN

if TYPE_CHECKING:  # the command line reads the options
    from nmt_cli.recipe.config import Recipe

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The options of ``nmt train``."""

    output: Path | None = option(None, "Run folder to write; default: runs/NAME.", flags="-o")
    prepared: Path | None = option(
        None, "Folder of the prepared data; default: prepared/NAME, created when needed."
    )
    init_from: Path | None = option(
        None,
        "Run to start from: its weights and tokenizers. [model] must describe the same model.",
        metavar="RUN",
    )
    resume: bool = option(
        False, "Continue from the run's last checkpoint, or start if there is none."
    )
    force: bool = option(False, "Replace an existing run.")
    devices: Annotated[int, Meta(ge=1, le=1024)] | None = option(
        None,
        "Accelerators, or parts of the CPU's cores, that share each batch. Default: 1; with "
        "TensorFlow on a CPU, as many parts as pay off.",
        group="Hardware",
    )
    coordinator: str | None = option(
        None,
        "Address of process 0, to train in several processes; needs JAX.",
        metavar="HOST:PORT",
        group="Hardware",
    )
    processes: PositiveInt | None = option(None, "Number of processes.", group="Hardware")
    process_id: NonNegativeInt | None = option(
        None, "Number of this process: 0 to N-1.", metavar="I", group="Hardware"
    )


def run_training(
    recipe: "Recipe", options: TrainOptions, command: Sequence[str] = ("nmt", "train")
) -> Path:
    """Prepare the data if needed and train, in one process or together with others.

    Returns the run's folder. After a signal, raises KeyboardInterrupt with how to continue:
    ``command`` with the options and --resume.
    """
    if options.resume and options.force:
        raise OptionError("give one of `resume` and `force`")
    connection = options.coordinator, options.processes, options.process_id
    if len({value is None for value in connection}) > 1:
        raise OptionError("`coordinator`, `processes` and `process_id` go together")
    folder = options.output or Path("runs", recipe.label)
    # Only process 0 writes.
    with nullcontext() if options.process_id else locked(folder):
        _prepare_and_train(recipe, options, folder, command)
    return folder


def _prepare_and_train(
    recipe: "Recipe", options: TrainOptions, folder: Path, command: Sequence[str]
) -> None:
    has_run = (folder / RUN).exists()
    if has_run and not (options.resume or options.force):
        hint = "continue with `resume`, or replace it with `force`"
        raise OutputError(f"{folder}: a run already exists", hint)
    import_keras()
    from nmt_cli.data.prepare import prepare
    from nmt_cli.data.prepared import Prepared
    from nmt_cli.training.devices import Devices
    from nmt_cli.training.distributed import disconnect, reporting_losses, set_up, wait
    from nmt_cli.training.run import Run
    from nmt_cli.training.train import train

    initial = Run.open(options.init_from) if options.init_from else None
    run = Run.open(folder) if options.resume and has_run else None
    if options.resume and not (run and run.checkpoints()):
        if any(folder.glob("*.npz")):
            raise ModelError(f"{folder}: has no checkpoint left", "start again with `force`")
        logger.info(f"{folder}: no checkpoint yet, starting from the beginning")
        run = None
    start = initial.folder if initial else run.folder if run and run.initial else None
    processes, process_id = options.processes or 1, options.process_id or 0
    devices = Devices(options.devices or 0, options.coordinator or "", processes, process_id)
    devices = set_up(devices, recipe, run.devices if run else 0)
    prepared = options.prepared or Path("prepared", recipe.label)
    with reporting_losses(devices):
        if devices.is_main:
            # Check that the run can be resumed before changing the prepared data.
            check = partial(run.check_resumable, recipe) if run else None
            prepare(recipe, prepared, check=check, tokenizers=start and start / "tokenizer")
        wait(devices)
        try:
            with locked(prepared, shared=True):
                data = Prepared.open(prepared)
                train(recipe, data, folder, run is not None, devices, initial)
        except KeyboardInterrupt as stop:
            if not stop.args:  # before there was anything to save
                raise
            disconnect(devices)
            done = f"stopped at step {stop.args[0]:,}; checkpoint saved"
            following = f"continue with: {_resuming(command, options)}"
            raise KeyboardInterrupt(f"{done}; {following}") from None
        disconnect(devices)


def _resuming(command: Sequence[str], options: TrainOptions) -> str:
    words = [*command]
    for name, value in vars(options).items():
        if name not in ("resume", "force") and value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*words, "--resume"])
