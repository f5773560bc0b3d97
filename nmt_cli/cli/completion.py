"""nmt completion, and the names that it completes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nmt_cli.cli.lookup import EVERY_BUNDLE, EVERY_RUN, recipe_names
from nmt_cli.cli.options import command
from nmt_cli.files import standard_output

if TYPE_CHECKING:  # click imports it for completion only
    from click.shell_completion import CompletionItem

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


def complete_names(parameter: click.Parameter) -> None:
    """Complete a parameter that takes a recipe, run or bundle with the names of those."""
    singular = (parameter.name or "").rstrip("s")
    if isinstance(parameter.type, click.Path) and singular in _MARKERS:
        _complete(parameter, partial(_folders, _MARKERS[singular]), "dir")
    elif singular == "recipe":
        _complete(parameter, recipe_names, "file")


def _complete(parameter: click.Parameter, names: Callable[[], list[str]], other: str) -> None:
    """Complete a parameter with names; if none fits, with files ("file") or folders ("dir")."""

    def complete(context: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        items = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        return items or [CompletionItem(incomplete, type=other)]

    parameter.shell_complete = complete  # type: ignore[method-assign, assignment]


def _folders(markers: list[str]) -> list[str]:
    return sorted(str(path.parent) for marker in markers for path in Path().glob(marker))
