"""nmt completion, and what a shell is told of names that are looked up on the disk."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from nmt_cli.cli.environment import every_parameter
from nmt_cli.cli.options import EXPORTS, RUNS, recipe_names
from nmt_cli.cli.streams import check_standard_output

SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog="""Example: eval "$(nmt completion bash)"

    \b
    To have it in every new shell:
      bash  nmt completion bash > ~/.local/share/bash-completion/completions/nmt
            (make the folder first; without the package bash-completion, put the line
            of the example into ~/.bashrc)
      zsh   put  eval "$(nmt completion zsh)"  into ~/.zshrc, below compinit
      fish  nmt completion fish > ~/.config/fish/completions/nmt.fish
    """
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete nmt's commands, options and names.

    Recipes that come with nmt, and models under exports/ and runs/, are among the names.
    """
    check_standard_output()
    kind = get_completion_class(shell)
    assert kind is not None, "click knows every one of SHELLS"
    # The variable that click looks for when a program called nmt starts.
    script = kind(context.find_root().command, {}, "nmt", "_NMT_COMPLETE").source()
    click.echo(script, nl=False)


def complete_names(command: click.Command) -> None:
    """Let a command complete recipes, runs and bundles, by its parameters' names."""
    for _, each in every_parameter(command, ""):
        if isinstance(each.type, click.Path):
            names = _FOLDERS.get(each.name or "")
        else:
            names = recipe_names if each.name in ("recipe", "recipes") else None
        if names:
            other = "dir" if isinstance(each.type, click.Path) else "file"
            each.shell_complete = partial(_completed, names, other)  # type: ignore[method-assign]


def _completed(
    names: Callable[[], Iterable[str]], other: str, context: click.Context, incomplete: str
) -> list[CompletionItem]:
    """Names that begin so; if there are none, what else may stand there: "file" or "dir"."""
    found = [CompletionItem(each) for each in names() if each.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type=other)]


def _runs() -> list[str]:
    return _folders(RUNS, "run.json")


def _bundles() -> list[str]:
    from nmt_cli.bundle.manifest import MANIFEST

    return _folders(EXPORTS, MANIFEST)


def _models() -> list[str]:
    return [*_bundles(), *_runs()]


def _folders(place: Path, marker: str) -> list[str]:
    # Names with a dot in front are half-written.
    return sorted(str(each.parent) for each in place.glob(f"[!.]*/{marker}"))


_FOLDERS = {
    "model": _models,
    "models": _models,
    "bundle": _bundles,
    "run": _runs,
    "runs": _runs,
}
