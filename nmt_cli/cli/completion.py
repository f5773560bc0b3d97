"""nmt completion."""

import click
from click.shell_completion import get_completion_class

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
