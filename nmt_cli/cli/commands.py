"""The commands by name, each imported when it is asked for."""

from collections.abc import Iterator, MutableMapping
from importlib import import_module

import click

from nmt_cli.cli.completion import complete_names
from nmt_cli.cli.environment import name_variables

NAMES = (
    "prepare",
    "train",
    "average",
    "translate",
    "score",
    "backtranslate",
    "distill",
    "export",
    "verify",
    "evaluate",
    "bench",
    "plot",
    "report",
    "quickstart",
    "inspect",
    "completion",
)
"""Each is a module of this package, with a command of the same name in it."""


class Commands(MutableMapping[str, click.Command]):
    """All commands; those that were asked for stay."""

    def __init__(self) -> None:
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        """Import a command, if it is not yet; its options get their variables,
        its parameters what completes them."""
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

    def __contains__(self, name: object) -> bool:
        return name in NAMES

    def __setitem__(self, name: str, command: click.Command) -> None:
        raise TypeError("commands are modules of nmt_cli.cli, named in NAMES")

    def __delitem__(self, name: str) -> None:
        raise TypeError("commands stay")
