"""The commands by name, each imported when it is first used."""

from collections.abc import Iterator, Mapping
from importlib import import_module

import click

from nmt_cli.cli.completion import complete_names
from nmt_cli.cli.environment import name_variables
from nmt_cli.cli.options import option_error
from nmt_cli.errors import OptionError

NAMES = (
    "quickstart",
    "prepare",
    "train",
    "average",
    "evaluate",
    "export",
    "verify",
    "translate",
    "score",
    "backtranslate",
    "distill",
    "inspect",
    "bench",
    "plot",
    "report",
    "completion",
)
"""In the order of the help. Each is a module of this package with a command of the same name."""


class Commands(Mapping[str, click.Command]):
    """All commands; importing one also names its variables and what completes its arguments."""

    def __init__(self) -> None:
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in NAMES:
            raise KeyError(name)
        if name not in self._loaded:
            command: click.Command = getattr(import_module(f"nmt_cli.cli.{name}"), name)
            name_variables(command, f"nmt {name}")
            complete_names(command)
            self._loaded[name] = command
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


class Group(click.Group):
    """A group whose help lists commands in their defined order, with untruncated summaries.

    Options that contradict each other are a usage error of the command.
    """

    def invoke(self, context: click.Context) -> object:
        """Run the chosen command."""
        try:
            return super().invoke(context)
        except OptionError as error:
            name = context.invoked_subcommand or ""
            command = self.get_command(context, name) or self
            raise option_error(error, click.Context(command, context, name)) from None

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names in their defined order."""
        return list(self.commands)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(1000)) for name, each in self.commands.items()]
            )
