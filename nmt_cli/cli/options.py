"""Options and lookups that several commands share."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import Field, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import click
from msgspec import Meta

from nmt_cli.bundle import MANIFEST
from nmt_cli.errors import NmtError, OptionError
from nmt_cli.options import checked, option, plain_type
from nmt_cli.search.options import DecodingOptions
from nmt_cli.training import RUN

if TYPE_CHECKING:
    from nmt_cli.models import TranslationModel
    from nmt_cli.recipe.config import Recipe

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Text(click.types.StringParamType):
    """Text, as opposed to the name of a file, which may have any bytes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if any("\ud800" <= each <= "\udfff" for each in value):  # bytes that Python cannot decode
            reason = f"{value!a} is not valid {sys.getfilesystemencoding().upper()}"
            self.fail(f"{reason}; give UTF-8, in a locale such as C.UTF-8", param, ctx)
        return super().convert(value, param, ctx)


class Number(click.ParamType):
    """A number in the range that a setting's type declares."""

    name = "number"

    def __init__(self, kind: Any) -> None:
        self._kind, self._plain = kind, plain_type(kind)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return what the help shows for the value."""
        return "N" if self._plain is int else "X"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number that a text contains."""
        with suppress(ValueError):
            value = self._plain(value)
        try:
            return checked(value, self._kind, "")
        except OptionError as error:
            self.fail(f"{error}.", param, ctx)


TEXT = _Text()
PATH = click.Path(path_type=Path)
PATH_OR_STDIN = click.Path(path_type=Path, allow_dash=True)
DEFAULT_RECIPE = "ted-pt-en"
RECIPES = Path(__file__).parent.parent / "recipes"  # linked into this package and its wheel
PREPARED, RUNS, EXPORTS = Path("prepared"), Path("runs"), Path("exports")
# Folders whose name begins with a dot are half-written.
EVERY_BUNDLE, EVERY_RUN = f"exports/[!.]*/{MANIFEST}", f"runs/[!.]*/{RUN}"

set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a recipe key, e.g. --set model.heads=4; repeatable.",
)
models_option = click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    type=PATH,
    help="Run, bundle or name of an installed model; default: the newest under exports/, else "
    "under runs/, else the only one installed. Repeatable: an ensemble averages the probabilities.",
)


@dataclass(frozen=True)
class Hardware:
    """What a bundle runs on."""

    threads: Annotated[int, Meta(ge=1, le=1024)] | None = option(
        None, "CPU cores to use; default: all."
    )
    workers: Annotated[int, Meta(ge=1, le=1024)] | None = option(
        None,
        "Batches translated in parallel, sharing --threads; default: one per thread, or a single "
        "one for a single line.",
    )
    device: Literal["cpu", "cuda", "auto"] = option(
        "cpu",
        "Where a bundle runs; auto: CUDA if the installed onnxruntime has it.",
    )
    provider: str | None = option(
        None,
        "Execution provider of ONNX Runtime, e.g. OpenVINO, instead of --device.",
        metavar="NAME",
    )


def option_group(kind: type[Any], parameter: str, names: Sequence[str] = ()) -> Decorator:
    """The options that a dataclass's fields describe, or those with these names.

    The command gets an instance of the dataclass as ``parameter``.
    """
    chosen = [each for each in fields(kind) if each.metadata and (not names or each.name in names)]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_options(**given: Any) -> Any:
            values = kind(**{each.name: given.pop(each.name) for each in chosen})
            return command(**given, **{parameter: values})

        decorated: Callable[..., Any] = with_options
        for each in reversed(chosen):
            decorated = _option(each)(decorated)
        return decorated

    return decorate


def decoding_options(*names: str) -> Decorator:
    """The options of :class:`DecodingOptions` with these names, or all of them, and those of
    :class:`Hardware`. The command gets them as ``decoding`` and ``hardware``."""
    decoding = option_group(DecodingOptions, "decoding", names)
    hardware = option_group(Hardware, "hardware")
    return lambda command: decoding(hardware(command))


def _option(each: "Field[Any]") -> Decorator:
    """The Click option of a dataclass field, by its type and metadata."""
    details, kind = each.metadata, plain_type(each.type)
    settings: dict[str, Any] = {"help": details["help"], "default": each.default}
    if get_origin(kind) is Literal:
        settings |= {"type": click.Choice(get_args(kind)), "show_default": True}
    elif kind is bool:
        settings |= {"is_flag": True, "show_default": each.default}
    elif kind in (int, float):
        settings["type"] = Number(each.type)
    elif kind is Path:
        settings["type"] = PATH
    elif get_origin(kind) is tuple:
        settings["multiple"] = True
    if details["without_value"]:
        settings |= {"is_flag": False, "flag_value": details["without_value"]}
    name = each.name.replace("_", "-")
    flag = f"--{name}/--no-{name}" if each.default is True else f"--{name}"
    return click.option(*details["flags"], flag, metavar=details["metavar"], **settings)


def open_model(models: Sequence[Path | None], hardware: Hardware) -> "TranslationModel":
    """Open the models that the user named, or the newest; several are an ensemble.

    Raises:
        NmtError: there is no model, or it cannot run as requested.
    """
    from nmt_cli.models import open

    first, *more = [find_model(each) for each in models or (None,)]
    return open(first, *more, warn=say, **vars(hardware))


def say(message: str) -> None:
    """Print a message for people on stderr: stdout carries results only."""
    with suppress(OSError):  # a closed stderr must not abort the command
        click.echo(message, err=True)


class MessageHandler(logging.Handler):
    """Prints what the library logs, as :func:`say` does."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record's message without time, level or logger."""
        say(record.getMessage())


def print_messages() -> None:
    """Print the library's messages and warnings, and only here."""
    logger = logging.getLogger("nmt_cli")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    if not any(isinstance(handler, MessageHandler) for handler in logger.handlers):
        logger.addHandler(MessageHandler())


@contextmanager
def ending_by_sigpipe() -> Iterator[None]:
    """End silently like other filters if the reader of standard output is gone."""
    try:
        yield
    except BrokenPipeError:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)


def find_recipe(name: str, overrides: tuple[str, ...]) -> "Recipe":
    """Load a recipe by path, or by the name of one that comes with nmt.

    Raises:
        NmtError: no such recipe, or a bad one.
    """
    from nmt_cli.recipe.reading import load_recipe

    path = Path(name)
    if not path.exists():
        shipped = RECIPES / f"{path.stem}.toml"
        # "recipes/x.toml" means the shipped one too when one is elsewhere than a checkout.
        if shipped.exists() and path.parent in (Path(), Path("recipes")):
            path = shipped
        elif path.suffix != ".toml":
            known = ", ".join(recipe_names())
            raise NmtError(f"{name}: no such recipe", f"nmt comes with {known}")
    return load_recipe(path, overrides)


def is_recipe(path: Path) -> bool:
    """Whether a path names a recipe and not a model."""
    from nmt_cli.bundle.packages import installed_models

    name = str(path)
    known = name in recipe_names() and name not in installed_models()
    return not path.is_dir() and (path.suffix == ".toml" or known)


def recipe_names() -> list[str]:
    """Recipes that come with nmt."""
    return sorted(each.stem for each in RECIPES.glob("*.toml"))


def find_run(path: Path | None, reason: str = "") -> Path:
    """The run folder given, else the newest under runs/.

    Args:
        path: None for the newest.
        reason: why only a run will do, to be printed with the one chosen.

    Raises:
        NmtError: there is none.
    """
    found = path or _newest(EVERY_RUN)
    if not found:
        raise NmtError("no run under runs/", "train first with nmt train, or name a run folder")
    if reason:
        say(f"using the newest run, {found}: {reason}")
    return found


def find_model(path: Path | None) -> Path:
    """The model given, a folder or the name of an installed one; else, and printed, the newest
    bundle under exports/, else the newest run, else the only installed model.

    Raises:
        NmtError: there is none, or several are installed.
    """
    from nmt_cli.bundle.packages import installed_models, model_folder

    if path:
        return model_folder(path)
    for pattern in (EVERY_BUNDLE, EVERY_RUN):
        if newest := _newest(pattern):
            say(f"using {newest}, the newest under {newest.parent}/")
            return newest
    installed = installed_models()
    if len(installed) == 1:
        [(name, found)] = installed.items()
        say(f"using {name}, the only installed model")
        return found
    if installed:
        raise NmtError(f"several models are installed: {', '.join(installed)}", "give one with -m")
    raise NmtError(
        "no model: neither a bundle under exports/, nor a run under runs/, nor an installed one",
        "make one with nmt quickstart, or give one with -m",
    )


def _newest(pattern: str) -> Path | None:
    markers = Path().glob(pattern)
    newest = max(markers, key=lambda each: each.stat().st_mtime_ns, default=None)
    return newest and newest.parent
