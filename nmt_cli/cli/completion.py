"""nmt completion, and the completion of names of recipes, runs and bundles."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from nmt_cli.cli.environment import every_parameter
from nmt_cli.cli.options import EXPORTS, RUNS, recipe_names
from nmt_cli.files import standard_output


@click.command(
    epilog="""\b
    Example: eval "$(nmt completion bash)"

    \b
    To install it for every new shell:
      bash  nmt completion bash > ~/.local/share/bash-completion/completions/nmt
            (create the folder first; without the package bash-completion, add the
            line of the example to ~/.bashrc)
      zsh   add  eval "$(nmt completion zsh)"  to ~/.zshrc, after compinit
      fish  nmt completion fish > ~/.config/fish/completions/nmt.fish
    """
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a shell's completion script for nmt.

    It completes commands, options, recipes, and the models under exports/ and runs/.
    """
    standard_output()
    kind = get_completion_class(shell)
    assert kind is not None, "click has a class for each of the choices"
    script = kind(context.find_root().command, {}, "nmt", "_NMT_COMPLETE").source()
    click.echo(script, nl=False)


def complete_names(command: click.Command) -> None:
    """Let a command's parameters complete recipes, runs and bundles, by the parameters' names."""
    for _, each in every_parameter(command, ""):
        folders = isinstance(each.type, click.Path)
        names = (_FOLDERS if folders else _RECIPES).get(each.name or "")
        if names:
            other = "dir" if folders else "file"
            each.shell_complete = partial(_completed, names, other)  # type: ignore[method-assign]


def _completed(
    names: Callable[[], Iterable[str]], other: str, context: click.Context, incomplete: str
) -> list[CompletionItem]:
    """Return the names with this prefix; if there are none, let the shell complete files ("file")
    or folders ("dir")."""
    found = [CompletionItem(each) for each in names() if each.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type=other)]


def _runs() -> list[str]:
    return _folders(RUNS, "run.json")


def _bundles() -> list[str]:
    return _folders(EXPORTS, "manifest.json")


def _models() -> list[str]:
    return [*_bundles(), *_runs()]


def _folders(place: Path, marker: str) -> list[str]:
    # Incomplete folders have names that start with a dot.
    return sorted(str(each.parent) for each in place.glob(f"[!.]*/{marker}"))


_FOLDERS = {"model": _models, "models": _models, "bundle": _bundles, "run": _runs, "runs": _runs}
_RECIPES = {"recipe": recipe_names, "recipes": recipe_names}
