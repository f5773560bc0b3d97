"""Find recipes, runs and models by path, by name, or the newest one."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli import models
from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.packages import installed_models, model_folder
from nmt_cli.cli.options import Hardware, say
from nmt_cli.errors import InputError, ModelError
from nmt_cli.options import option
from nmt_cli.training import RUN

if TYPE_CHECKING:
    from nmt_cli.recipe.config import Recipe

DEFAULT_RECIPE = "ted-pt-en"
RECIPES = Path(__file__).parent.parent / "recipes"  # linked into this package and its wheel
PREPARED = Path("prepared")
EVERY_BUNDLE, EVERY_RUN = f"exports/[!.]*/{MANIFEST}", f"runs/[!.]*/{RUN}"  # no half-written

# Options that several commands have.
OVERRIDES: tuple[str, ...] = option(
    (),
    "Override a recipe key, e.g. --set model.heads=4; repeatable.",
    metavar="KEY=VALUE",
    flags="--set",
)
MODELS: tuple[Path, ...] = option(
    (),
    "Run, bundle or installed model; repeatable for an ensemble. Default: the newest under "
    "exports/, or under runs/, or the only installed model.",
    flags="-m --model",
    group="Input",
)


def find_recipe(name: str, overrides: tuple[str, ...] = ()) -> "Recipe":
    """Load a recipe by path, or by the name of one that comes with nmt."""
    from nmt_cli.recipe.reading import load_recipe

    path = Path(name)
    if not path.exists():
        shipped = RECIPES / f"{path.stem}.toml"
        # Outside a checkout, "recipes/x.toml" means the shipped recipe, too.
        if shipped.exists() and path.parent in (Path(), Path("recipes")):
            path = shipped
        elif path.suffix != ".toml":
            known = ", ".join(recipe_names())
            raise InputError(f"{name}: no such recipe", f"nmt comes with {known}")
    return load_recipe(path, overrides)


def is_recipe(path: Path) -> bool:
    """Whether a path names a recipe and not a model."""
    name = str(path)
    is_shipped = name in recipe_names() and name not in installed_models()
    return not path.is_dir() and (path.suffix == ".toml" or is_shipped)


def recipe_names() -> list[str]:
    """Return the names of the recipes that come with nmt."""
    return sorted(path.stem for path in RECIPES.glob("*.toml"))


def find_run(path: Path | None, reason: str = "") -> Path:
    """Return the path, or the newest run; with a ``reason`` why it must be a run, print both."""
    run = path or _newest(EVERY_RUN)
    if not run:
        raise ModelError("no run under runs/", "train first with nmt train, or name a run folder")
    if reason:
        say(f"using the newest run, {run}: {reason}")
    return run


def find_model(path: Path | None) -> Path:
    """Resolve ``--model``: a folder or an installed model.

    Without it, the newest bundle under exports/, the newest run or the only installed model, in
    this order; it is announced on stderr.
    """
    if path:
        return model_folder(path)
    for pattern in (EVERY_BUNDLE, EVERY_RUN):
        if newest := _newest(pattern):
            say(f"using {newest}, the newest under {newest.parent}/")
            return newest
    installed = installed_models()
    if len(installed) == 1:
        [(name, folder)] = installed.items()
        say(f"using {name}, the only installed model")
        return folder
    if installed:
        names = ", ".join(installed)
        raise ModelError(f"several models are installed: {names}", "give one with `model`")
    places = "neither a bundle under exports/, nor a run under runs/, nor an installed one"
    hint = "make one with nmt quickstart, or give one with `model`"
    raise ModelError(f"no model: {places}", hint)


def open_model(paths: Sequence[Path | None], hardware: Hardware) -> models.TranslationModel:
    """Open the models that the user named, or the newest; several are an ensemble."""
    folders = [find_model(path) for path in paths or (None,)]
    return models.open(*folders, **vars(hardware))


def _newest(pattern: str) -> Path | None:
    markers = Path().glob(pattern)
    newest = max(markers, key=lambda path: path.stat().st_mtime_ns, default=None)
    return newest and newest.parent
