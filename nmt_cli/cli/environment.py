"""NMT_* variables: defaults for options.

NMT_COMMAND_OPTION is --option of a command, e.g. NMT_TRANSLATE_BEAM_SIZE; NMT_MODEL is --model of
every command that has no variable of its own set. Click ignores empty variables, and splits those
of repeatable options at white space (paths: like PATH).
"""

import os
from collections.abc import Iterator
from pathlib import Path

import click
from click.core import ParameterSource

MODEL_VARIABLE = "NMT_MODEL"


def every_parameter(command: click.Command, name: str) -> Iterator[tuple[str, click.Parameter]]:
    """Yield the parameters of a command or of all commands of a group, each with its command.

    Args:
        command: the command or group.
        name: its full name, e.g. "nmt plot".
    """
    if isinstance(command, click.Group):
        for own, each in command.commands.items():
            yield from every_parameter(each, f"{name} {own}")
    else:
        yield from ((name, each) for each in command.params)


def name_variables(command: click.Command, name: str) -> None:
    """Set the variables of all options of a command or group.

    Click's auto_envvar_prefix would use Python's parameter names, which users do not know (--set
    is "overrides"), and has no second variable.
    """
    for owner, each in every_parameter(command, name):
        if isinstance(each, click.Option):
            option = max(each.opts, key=len)
            own = f"{owner} {option.lstrip('-')}".replace(" ", "_").replace("-", "_").upper()
            each.envvar = [own, MODEL_VARIABLE] if option == "--model" else [own]


def refused_variable(error: click.UsageError) -> str:
    """Return the variable whose value is invalid, or "" if the value was typed."""
    if not isinstance(error, click.BadParameter) or not error.ctx or not error.param:
        return ""
    if error.ctx.get_parameter_source(error.param.name or "") is not ParameterSource.ENVIRONMENT:
        return ""
    return next((each for each in error.param.envvar or [] if os.environ.get(each)), "")


def naming_variable(message: str) -> str:
    """Add to an error message the NMT_* variable that its path comes from, if there is one."""
    for name, value in sorted(os.environ.items()):
        for path in filter(None, value.split(os.pathsep) if name.startswith("NMT_") else []):
            if message.startswith((f"{Path(path)}:", f"{Path(path)}/")):
                return f"{message} (from {name})"
    return message
