"""Models that are installed as Python packages; see package.py."""

from pathlib import Path

from nmt_cli.errors import NmtError

# The entry points of such packages: a model's name, and the module whose folder is the bundle.
GROUP = "nmt_cli.models"


def installed_models() -> dict[str, Path]:
    """The folders of the installed models by name, in alphabetical order; imports none of them."""
    from importlib.metadata import entry_points  # not at the start of every command
    from importlib.util import find_spec

    found = {}
    for each in entry_points(group=GROUP):
        spec = find_spec(each.value)
        for place in (spec and spec.submodule_search_locations) or ():
            found[each.name] = Path(place)
    return dict(sorted(found.items()))


def model_folder(model: Path) -> Path:
    """The folder of a model: the path itself, or where the model of that name is installed.

    Raises:
        NmtError: there is neither.
    """
    if model.exists():
        return model
    installed = installed_models() if len(model.parts) == 1 else {}
    if str(model) not in installed:
        known = ", ".join(installed)
        hint = f"installed models: {known}" if known else ""
        raise NmtError(f"{model}: no such run or bundle", hint)
    return installed[str(model)]
