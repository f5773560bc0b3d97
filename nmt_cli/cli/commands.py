"""The commands by name, in the groups of the help, the variables of their options, and completion.

NMT_COMMAND_OPTION is --option of a command, e.g. NMT_TRANSLATE_BEAM_SIZE; NMT_MODEL is --model of
every command that has no variable of its own set. Click ignores empty variables, and splits those
of repeatable options at white space (paths: like PATH).
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nmt_cli.cli.lookup import EVERY_BUNDLE, EVERY_RUN, recipe_names
from nmt_cli.cli.options import command
from nmt_cli.files import standard_output

if TYPE_CHECKING:  # click imports it for completion only
    from click.shell_completion import CompletionItem

GROUPS = {
    "Start": ("quickstart", "completion"),
    "Train": ("prepare", "train", "average", "import", "backtranslate", "distill"),
    "Export": ("export", "verify", "package", "models"),
    "Use": ("translate", "serve", "score", "tokenize"),
    "Analyse": ("evaluate", "inspect", "bench", "plot", "report"),
}
# For each command, the module of this package that defines it.
MODULES = {name: group.lower() for group, names in GROUPS.items() for name in names}
MODULES |= {"quickstart": "train", "completion": "commands", "plot": "plot", "report": "plot"}


class Commands(Mapping[str, click.Command]):
    """All commands, each imported when it is first used."""

    def __getitem__(self, name: str) -> click.Command:
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class Group(click.Group):
    """A group whose help lists commands in their defined order, all commands under headings."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names in their defined order."""
        return list(self.commands)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands and what they do."""
        groups = GROUPS if isinstance(self.commands, Commands) else {"Commands": self.commands}
        for heading, names in groups.items():
            rows = [(name, self.commands[name].get_short_help_str(1000)) for name in names]
            with formatter.section(heading):
                formatter.write_dl(rows)


def every_command(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and those of a group, each with its full name, e.g. "nmt plot masks"."""
    yield name, command
    if isinstance(command, click.Group):
        for inner_name, inner in command.commands.items():
            yield from every_command(inner, f"{name} {inner_name}")


@cache
def _load(name: str) -> click.Command:
    """Import a command; add the variables of its options, and what completes its arguments."""
    attribute = f"{name}_" if iskeyword(name) else name
    loaded: click.Command = getattr(import_module(f"nmt_cli.cli.{MODULES[name]}"), attribute)
    for full_name, inner in every_command(loaded, f"nmt {name}"):
        inner.short_help = inner.get_short_help_str(1000)  # lists of commands cut help off
        for parameter in inner.params:
            _complete_names(parameter)
            # Click's auto_envvar_prefix would use Python's parameter names, which users do not
            # know (--set is "overrides"), and has no second variable.
            if isinstance(parameter, click.Option):
                flag = max(parameter.opts, key=len)
                variable = re.sub("[ -]+", "_", f"{full_name} {flag}").upper()
                parameter.envvar = [variable] + ["NMT_MODEL"] * (flag == "--model")
    return loaded


# What completes the arguments and options of these names (or their plurals) that are folders.
_MARKERS = {"bundle": [EVERY_BUNDLE], "run": [EVERY_RUN], "model": [EVERY_BUNDLE, EVERY_RUN]}


@command(
    example='eval "$(nmt completion bash)"',
    epilog="""
    \b
    To install it for every new shell:
      bash  nmt completion bash > ~/.local/share/bash-completion/completions/nmt
            (create the folder first; without the package bash-completion, add the
            line of the example to ~/.bashrc)
      zsh   add  eval "$(nmt completion zsh)"  to ~/.zshrc, after compinit
      fish  nmt completion fish > ~/.config/fish/completions/nmt.fish
    """,
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a shell's completion script for nmt.

    It completes commands, options, recipes, and the models under exports/ and runs/.
    """
    from click.shell_completion import get_completion_class

    standard_output()
    kind = get_completion_class(shell)
    assert kind is not None, "click has a class for each of the choices"
    script = kind(context.find_root().command, {}, "nmt", "_NMT_COMPLETE").source()
    click.echo(script, nl=False)


def _complete_names(parameter: click.Parameter) -> None:
    """Complete a parameter that takes recipes, runs or bundles with their names, or with paths."""
    singular = (parameter.name or "").rstrip("s")
    markers = _MARKERS.get(singular, []) if isinstance(parameter.type, click.Path) else []
    if singular != "recipe" and not markers:
        return

    def complete(context: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        folders = {str(path.parent) for marker in markers for path in Path().glob(marker)}
        names = sorted(folders) if markers else recipe_names()
        items = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return items or [CompletionItem(incomplete, type="dir" if markers else "file")]

    parameter.shell_complete = complete  # type: ignore[method-assign, assignment]
