"""The commands by name, the variables of their options, and the completion of names.

NMT_COMMAND_OPTION is --option of a command, e.g. NMT_TRANSLATE_BEAM_SIZE; NMT_MODEL is --model of
every command that has no variable of its own set. Click ignores empty variables, and splits those
of repeatable options at white space (paths: like PATH).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nmt_cli.cli.options import EVERY_BUNDLE, EVERY_RUN, TEXT, recipe_names
from nmt_cli.errors import OptionError

if TYPE_CHECKING:  # click imports it for completion only
    from click.shell_completion import CompletionItem

# In the order of the help, with the module of this package that has a command of that name.
MODULES = {
    "quickstart": "quickstart",
    "prepare": "train",
    "train": "train",
    "average": "train",
    "import": "import_",
    "evaluate": "evaluate",
    "export": "export",
    "verify": "export",
    "package": "package",
    "models": "package",
    "translate": "translate",
    "serve": "serve",
    "score": "score",
    "tokenize": "tokenize",
    "backtranslate": "synthetic",
    "distill": "synthetic",
    "inspect": "inspect",
    "bench": "bench",
    "plot": "plot",
    "report": "plot",
    "completion": "completion",
}
# What completes the arguments and options of these names (or their plurals) that are folders.
_MARKERS = {"bundle": [EVERY_BUNDLE], "run": [EVERY_RUN], "model": [EVERY_BUNDLE, EVERY_RUN]}
# Texts that may also name a file.
_FILES = ("recipe", "model")


class Commands(Mapping[str, click.Command]):
    """All commands, each imported when it is first used."""

    def __getitem__(self, name: str) -> click.Command:
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class Group(click.Group):
    """A group whose help lists commands in their defined order.

    Options that contradict each other are a usage error of the command.
    """

    def invoke(self, context: click.Context) -> object:
        """Run the chosen command."""
        try:
            return super().invoke(context)
        except OptionError as error:
            name = context.invoked_subcommand or ""
            own = click.Context(self.get_command(context, name) or self, context, name)
            raise click.UsageError(re.sub("`(.*?)`", _typed, str(error)), own) from None

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names in their defined order."""
        return list(self.commands)


def every_command(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and those of a group, each with its full name, e.g. "nmt plot masks"."""
    yield name, command
    if isinstance(command, click.Group):
        for own, each in command.commands.items():
            yield from every_command(each, f"{name} {own}")


@cache
def _load(name: str) -> click.Command:
    """Import a command; add the variables of its options, and what completes its arguments."""
    attribute = f"{name}_" if iskeyword(name) else name
    found: click.Command = getattr(import_module(f"nmt_cli.cli.{MODULES[name]}"), attribute)
    for owner, command in every_command(found, f"nmt {name}"):
        command.short_help = command.get_short_help_str(1000)  # lists of commands cut help off
        for each in command.params:
            kind, is_path = (each.name or "").rstrip("s"), isinstance(each.type, click.Path)
            if is_path and kind in _MARKERS:
                _complete(each, partial(_folders, _MARKERS[kind]), "dir")
            elif kind == "recipe":
                _complete(each, recipe_names, "file")
            if isinstance(each.type, click.types.StringParamType) and kind not in _FILES:
                each.type = TEXT
            # Click's auto_envvar_prefix would use Python's parameter names, which users do not
            # know (--set is "overrides"), and has no second variable.
            if isinstance(each, click.Option):
                option = max(each.opts, key=len)
                own = re.sub("[ -]+", "_", f"{owner} {option}").upper()
                each.envvar = [own, "NMT_MODEL"] if option == "--model" else [own]
    return found


def _complete(parameter: click.Parameter, names: Callable[[], list[str]], other: str) -> None:
    """Complete a parameter with names, else with files ("file") or folders ("dir")."""

    def complete(context: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        found = [CompletionItem(each) for each in names() if each.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type=other)]

    parameter.shell_complete = complete  # type: ignore[method-assign, assignment]


def _folders(markers: list[str]) -> list[str]:
    return sorted(str(each.parent) for marker in markers for each in Path().glob(marker))


def _typed(quoted: re.Match[str]) -> str:
    """An option in a message as it is typed: n_best=4 as --n-best 4."""
    name, _, value = quoted[1].partition("=")
    return f"--{name.replace('_', '-')} {value}".rstrip()
