"""NMT_* variables: values for options, where the command line gives none.

An option is NMT_COMMAND_OPTION, each as it is typed: NMT_TRANSLATE_BEAM_SIZE, NMT_EXPORT_ONNX.
NMT_MODEL is -m/--model of every command, where there is no variable of its own. Click takes an
empty variable for none, and splits one of a repeatable option: at white space, or, for paths, as
PATH is split.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import click
from click.core import ParameterSource

MODEL_VARIABLE = "NMT_MODEL"


def every_parameter(command: click.Command, name: str) -> Iterator[tuple[str, click.Parameter]]:
    """All parameters of a command, or of a group's commands, with the command's name.

    Args:
        command: to look into.
        name: it is called by; those of a group's commands are put behind it.
    """
    if isinstance(command, click.Group):
        for own, each in command.commands.items():
            yield from every_parameter(each, f"{name} {own}")
    else:
        yield from ((name, each) for each in command.params)


def name_variables(command: click.Command, name: str) -> None:
    """Give every option of a command, or of a group's commands, its variable.

    Click's own auto_envvar_prefix would name some by Python's names for them, which no user
    knows (--set is "overrides"), and knows no second variable behind the first.
    """
    for owner, each in every_parameter(command, name):
        if isinstance(each, click.Option):
            option = max(each.opts, key=len)
            words = f"{owner} {option.lstrip('-')}"
            own = words.replace(" ", "_").replace("-", "_").upper()
            each.envvar = [own, MODEL_VARIABLE] if option == "--model" else [own]


def refused_variable(error: click.UsageError) -> str:
    """The variable whose value is refused; "" where the value came from elsewhere."""
    if not isinstance(error, click.BadParameter) or not error.ctx or not error.param:
        return ""
    source = error.ctx.get_parameter_source(error.param.name or "")
    found = [each for each in _variables(error.param) if os.environ.get(each)]
    return found[0] if found and source is ParameterSource.ENVIRONMENT else ""


def naming_variable(group: click.Group, message: str) -> str:
    """An error's message, with the variable that names the path it begins with, if one does."""
    variables = {name for _, each in every_parameter(group, "nmt") for name in _variables(each)}
    for name in sorted(variables & os.environ.keys()):
        for path in filter(None, os.environ[name].split(os.pathsep)):
            if message.startswith((f"{Path(path)}:", f"{Path(path)}/")):
                return f"{message} ({name} names it)"
    return message


def _variables(parameter: click.Parameter) -> list[str]:
    names = parameter.envvar or []
    return [names] if isinstance(names, str) else list(names)
