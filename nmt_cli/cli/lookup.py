"""Find recipes, runs and models: by path, by name, or the ones to use by default."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli import models
from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.packages import installed_models, model_folder
from nmt_cli.cli.options import Hardware, say
from nmt_cli.errors import InputError, ModelError
from nmt_cli.options import did_you_mean, option
from nmt_cli.text.lines import write_lines
from nmt_cli.training import RUN

if TYPE_CHECKING:
    from nmt_cli.recipe.config import Recipe

DEFAULT_RECIPE = "ted-pt-en"
RECIPES = Path(__file__).parent.parent / "recipes"  # linked into this package and its wheel
PREPARED = Path("prepared")
DEFAULT = Path(".nmt-model")  # its line is the default model of the current folder
SET_DEFAULT = "set the default with nmt models --default NAME"
MAX_LISTED = 10  # models in an error
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
    "Run, bundle or installed model; repeatable for an ensemble. Default: that of nmt models "
    "--default, or the only one under exports/, or under runs/, or installed.",
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
        else:
            known = {recipe: recipe for recipe in recipe_names()}
            nearby = {file.stem: str(file) for file in path.parent.glob("*.toml")}
            hint = did_you_mean(path.stem, known | nearby, f"nmt comes with {', '.join(known)}")
            raise InputError(f"{name}: no such recipe", hint)
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
    runs = () if path else Path().glob(EVERY_RUN)
    newest = max(runs, key=lambda file: file.stat().st_mtime_ns, default=None)
    run = path or (newest and newest.parent)
    if not run:
        raise ModelError("no run under runs/", "train first with nmt train, or name a run folder")
    if reason:
        say(f"using the newest run, {run}: {reason}")
    return run


def find_model(path: Path | None) -> Path:
    """Resolve ``--model``: a folder or an installed model.

    Without it, the default model, or the only one in the first place that has any: exports/, runs/,
    the installed models. It is announced on stderr.
    """
    if path:
        return _existing(path)
    if name := default_model():
        folder = model_folder(Path(name), f"default model; {SET_DEFAULT}")
        say(f"using {name}, the default model")
        return folder
    for place, known in known_models():
        if len(known) > 1:
            names = ", ".join(list(known)[:MAX_LISTED]) + ", ..." * (len(known) > MAX_LISTED)
            raise ModelError(f"several models {place}: {names}", f"name one, or {SET_DEFAULT}")
        for name, folder in known.items():
            say(f"using {name}, the only model {place}")
            return folder
    places = "neither a bundle under exports/, nor a run under runs/, nor an installed one"
    raise ModelError(f"no model: {places}", "make one with nmt quickstart, or name one")


def known_models() -> Iterator[tuple[str, dict[str, Path]]]:
    """Yield the places of models, each with the folders of its models by name."""
    for pattern in (EVERY_BUNDLE, EVERY_RUN):
        folders = sorted(marker.parent for marker in Path().glob(pattern))
        yield f"under {pattern.partition('/')[0]}/", {str(folder): folder for folder in folders}
    yield "installed", installed_models()


def default_model() -> str:
    """Return the name of the default model of the current folder; "" if there is none."""
    return DEFAULT.read_text("utf-8", "replace").strip() if DEFAULT.exists() else ""


def set_default_model(name: str) -> None:
    """Make a model the default of the current folder; "" for none."""
    if name:
        models.kind_of(_existing(Path(name)))
        write_lines(DEFAULT, [str(Path(name))])
    else:
        DEFAULT.unlink(missing_ok=True)


def _existing(path: Path) -> Path:
    """Return the folder of a model by its path or name; suggest another if there is none."""
    try:
        return model_folder(path)
    except ModelError as error:
        names = {Path(name).name: name for _, known in known_models() for name in known}
        for marker in (RUN, MANIFEST):
            nearby = path.parent.glob(f"[!.]*/{marker}")
            names |= {file.parent.name: str(file.parent) for file in nearby}
        raise ModelError(error.message, did_you_mean(path.name, names, error.hint)) from None


def open_model(paths: Sequence[Path | None], hardware: Hardware) -> models.TranslationModel:
    """Open the models that the user named, or the default; several are an ensemble."""
    folders = [find_model(path) for path in paths or (None,)]
    return models.open(*folders, **vars(hardware))
