"""Click options and commands made from the settings that the library declares."""

import logging
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, fields
from functools import wraps
from inspect import signature
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any, Literal, get_args, get_origin

import click
from msgspec import Meta

from nmt_cli.errors import OptionError, RecipeError, visible
from nmt_cli.options import PositiveInt, checked, option, plain_type
from nmt_cli.search.options import DecodingOptions

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Text(click.types.StringParamType):
    """Text, as opposed to the name of a file, which may have any bytes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if any("\ud800" <= character <= "\udfff" for character in value):  # undecodable bytes
            reason = f"{value!a} is not valid {sys.getfilesystemencoding().upper()}"
            self.fail(f"{reason}; give UTF-8, in a locale such as C.UTF-8", param, ctx)
        return super().convert(value, param, ctx)


class _Number(click.ParamType):
    """A number in the range that a setting's type declares."""

    name = "number"

    def __init__(self, kind: Any) -> None:
        self._kind, self._plain = kind, plain_type(kind)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "N" if self._plain is int else "X"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        with suppress(ValueError):
            value = self._plain(value)
        try:
            return checked(value, self._kind, "")
        except OptionError as error:
            self.fail(f"{error}.", param, ctx)


# Of groups of options, in the order of the help.
HEADINGS = ("Formats", "Options", "Input", "Output", "Search", "Sampling", "Limits", "Hardware")
TEXT = _Text()
COUNT = _Number(PositiveInt)
PATH = click.Path(path_type=Path)
INPUT = click.Path(path_type=Path, allow_dash=True)  # -: standard input


class Command(click.Command):
    """A command whose help shows options under their headings, and an example at the end."""

    def __init__(self, name: str | None, example: str, epilog: str = "", **settings: Any) -> None:
        super().__init__(name, **settings)
        self.epilog = f"\b\nExample: {example}\n{dedent(epilog)}".rstrip()

    def invoke(self, context: click.Context) -> object:
        """Run the command; options that contradict each other are a usage error of it."""
        try:
            return super().invoke(context)
        except RecipeError:  # in a file
            raise
        except OptionError as error:
            raise click.UsageError(as_typed(str(error)), context) from None

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings."""
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for parameter in self.get_params(context):
            record = parameter.get_help_record(context)
            if record and isinstance(parameter, click.Option):
                sections[getattr(parameter, "group", None) or "Options"].append(record)
        for heading, rows in sections.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows, col_max=24)


class Option(click.Option):
    """An option with a heading in its command's help; options in back quotes are shown as typed."""

    def __init__(self, *args: Any, group: str | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.group = group
        self.help = as_typed(self.help or "")


def command(
    name: str | None = None, cls: type[Command] = Command, **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a :class:`Command` of a function; see :func:`declared_options`."""
    return lambda function: click.command(name, cls, **settings)(declared_options(function))


def declared_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that a function's parameters declare: :func:`option` is their default."""
    for name, parameter in reversed([*signature(function).parameters.items()]):
        if isinstance(parameter.default, Field):
            function = _option(name, parameter.annotation, parameter.default)(function)
    return function


def as_typed(text: str) -> str:
    """Replace options in back quotes by what is typed: `n_best=4` by --n-best 4."""

    def typed(quoted: re.Match[str]) -> str:
        flag, value = f"--{quoted[1].replace('_', '-')}", quoted[2]
        if value in (None, "True"):
            return flag
        return flag.replace("--", "--no-", 1) if value == "False" else f"{flag} {value}"

    return re.sub("`([a-z][a-z0-9_-]*)(?:=([^`]*))?`", typed, text)


@dataclass(frozen=True)
class Hardware:
    """What a bundle runs on."""

    threads: Annotated[int, Meta(ge=1, le=1024)] | None = option(
        None, "CPU cores to use; default: all."
    )
    workers: Annotated[int, Meta(ge=1, le=1024)] | None = option(
        None, "Batches translated in parallel; default: one per thread, or one for a single line."
    )
    device: Literal["cpu", "cuda", "auto"] = option(
        "cpu", "Where bundles run; auto: CUDA if the installed onnxruntime has it."
    )
    provider: str | None = option(
        None, "ONNX Runtime execution provider, e.g. OpenVINO; replaces `device`.", metavar="NAME"
    )


def option_group(
    kind: type[Any], parameter: str, names: Sequence[str] = (), group: str | None = None
) -> Decorator:
    """Add the options that a dataclass declares, or those with these names.

    The command gets an instance of the dataclass as ``parameter``. In the help, the options are
    under their own heading, or under ``group``.
    """
    chosen = [item for item in fields(kind) if item.metadata and (not names or item.name in names)]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def with_options(**arguments: Any) -> Any:
            settings = kind(**{item.name: arguments.pop(item.name) for item in chosen})
            return function(**arguments, **{parameter: settings})

        decorated: Callable[..., Any] = with_options
        for item in reversed(chosen):
            decorated = _option(item.name, item.type, item, group)(decorated)
        return decorated

    return decorate


def decoding_options(*names: str) -> Decorator:
    """Add the :class:`DecodingOptions` with these names, or all of them, and :class:`Hardware`.

    The command gets them as ``decoding`` and ``hardware``.
    """
    decoding = option_group(DecodingOptions, "decoding", names, "Search")
    hardware = option_group(Hardware, "hardware", group="Hardware")
    return lambda function: decoding(hardware(function))


def _option(name: str, kind: Any, item: "Field[Any]", group: str | None = None) -> Decorator:
    """Return the Click option of a setting, by its type and description."""
    details, default = item.metadata, item.default
    settings: dict[str, Any] = {"required": True} if default is ... else {"default": default}
    settings |= {"help": details["help"], "metavar": details["metavar"]}
    settings["group"] = details["group"] or group
    if get_origin(kind) is tuple:
        kind = get_args(kind)[0]
        settings |= {"multiple": True, "show_default": bool(default)}
    plain = plain_type(kind)
    if get_origin(plain) is Literal:
        settings |= {"type": click.Choice(get_args(plain)), "show_default": bool(default)}
    elif plain is bool:
        settings |= {"is_flag": True, "show_default": default}
    elif plain in (int, float):
        settings["type"] = _Number(kind)
    else:
        settings["type"] = PATH if plain is Path else TEXT
    if details["without_value"]:
        settings |= {"is_flag": False, "flag_value": details["without_value"]}
    flags, typed = details["flags"].split(), name.replace("_", "-")
    if not any(flag.startswith("--") for flag in flags):
        flags.append(f"--{typed}/--no-{typed}" if default is True else f"--{typed}")
    return click.option(name, *flags, cls=Option, **settings)


def say(message: str) -> None:
    """Print a message for people on stderr: stdout carries results only."""
    with suppress(OSError):  # a closed stderr must not abort the command
        click.echo(visible(as_typed(message)), err=True)


def show(result: str) -> None:
    """Print a result on stdout that may have text of a model, without its control characters."""
    click.echo(visible(result))


class _MessageHandler(logging.Handler):
    """Prints the library's messages, as :func:`say` does."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


_HANDLER = _MessageHandler()


def print_messages() -> None:
    """Print the library's messages and warnings, and only here."""
    logger = logging.getLogger("nmt_cli")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(_HANDLER)  # a second time, this does nothing
