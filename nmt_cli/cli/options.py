"""Options and look-ups that several commands share."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nmt_cli.errors import NmtError

if TYPE_CHECKING:
    from nmt_cli.recipe.config import Recipe

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

DEFAULT_RECIPE = "ted-pt-en"
DEFAULT_DEVICE = "cpu"
PREPARED, RUNS, EXPORTS = Path("prepared"), Path("runs"), Path("exports")


def recipe_argument(required: bool) -> Decorator:
    """RECIPE: a file, or the name of one that comes with nmt."""
    return click.argument("recipe", required=required, default=None if required else DEFAULT_RECIPE)


def set_option() -> Decorator:
    """--set KEY=VALUE, repeatable."""
    return click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        help="Override a recipe key, e.g. --set model.heads=4; repeatable.",
    )


def output_option(help: str) -> Decorator:
    """-o/--output, a folder."""
    return click.option("-o", "--output", type=click.Path(path_type=Path), help=help)


def models_option() -> Decorator:
    """-m/--model, repeatable; the command gets ``models``."""
    return click.option(
        "-m",
        "--model",
        "models",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Run or bundle; default: the newest under exports/, else under runs/. Given more "
        "than once: their probabilities are averaged.",
    )


def penalty_option() -> Decorator:
    """--length-penalty."""
    return click.option(
        "--length-penalty",
        type=click.FloatRange(0, 10),
        help="GNMT's alpha: 0 for none, larger for longer translations.",
    )


def beam_options() -> Decorator:
    """--beam-size and --length-penalty."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        size = click.option(
            "--beam-size", type=click.IntRange(1, 256), help="Hypotheses followed; 1 is greedy."
        )
        return size(penalty_option()(function))

    return decorate


@dataclass(frozen=True)
class DecodingOptions:
    """How to search and what to run on, as the user gave it; None: the model's own, or all."""

    beam_size: int | None
    length_penalty: float | None
    threads: int | None
    workers: int | None
    device: str
    provider: str | None

    @property
    def for_bundles(self) -> bool:
        """Whether one was given that only a bundle can follow."""
        given = (self.threads, self.workers, self.device, self.provider)
        return given != (None, None, DEFAULT_DEVICE, None)


def decoding_options(beam: bool = True) -> Decorator:
    """The six options of :class:`DecodingOptions`, which the command gets as ``decoding``; or,
    for commands that do not search, those without --beam-size."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_decoding(
            length_penalty: float | None,
            threads: int | None,
            workers: int | None,
            device: str,
            provider: str | None,
            beam_size: int | None = None,
            **others: Any,
        ) -> Any:
            decoding = DecodingOptions(
                beam_size, length_penalty, threads, workers, device, provider
            )
            return command(decoding=decoding, **others)

        options = beam_options() if beam else penalty_option()
        return options(_runtime_options(with_decoding))

    return decorate


def _runtime_options(command: Callable[..., Any]) -> Callable[..., Any]:
    threads = click.option(
        "--threads", type=click.IntRange(1, 1024), help="Cores to use; default: all."
    )
    workers = click.option(
        "--workers",
        type=click.IntRange(1, 1024),
        help="Batches side by side, sharing --threads; default: one a thread, or one in all "
        "for a single line.",
    )
    device = click.option(
        "--device",
        type=click.Choice(("cpu", "cuda", "auto")),
        default=DEFAULT_DEVICE,
        show_default=True,
        help="Where a bundle runs; auto: on CUDA if the installed onnxruntime has it.",
    )
    provider = click.option(
        "--provider",
        metavar="NAME",
        help="Execution provider of ONNX Runtime, e.g. OpenVINO, instead of --device.",
    )
    return threads(workers(device(provider(command))))


def say(message: str) -> None:
    """Tell people how work goes on: on stderr, so that stdout carries results alone.

    Work does not fail for want of someone who is told.
    """
    with suppress(OSError):
        click.echo(message, err=True)


def find_recipe(name: str, overrides: tuple[str, ...]) -> "Recipe":
    """Load a recipe by path, or by the name of one that comes with nmt.

    Raises:
        NmtError: no such recipe, or a bad one.
    """
    from nmt_cli.recipe.reading import load_recipe

    path = Path(name)
    if not path.exists():
        shipped = _shipped_recipes() / f"{path.stem}.toml"
        # "recipes/x.toml" means the shipped one too when one is elsewhere than a checkout.
        if shipped.exists() and path.parent in (Path(), Path("recipes")):
            path = shipped
        elif path.suffix != ".toml":
            known = ", ".join(recipe_names())
            raise NmtError(f"{name}: no such recipe", f"nmt comes with {known}")
    return load_recipe(path, overrides)


def recipe_names() -> list[str]:
    """Recipes that come with nmt."""
    return sorted(each.stem for each in _shipped_recipes().glob("*.toml"))


def _shipped_recipes() -> Path:
    """recipes/ of the project: linked into this package, and so part of its wheel."""
    return Path(__file__).parent.parent / "recipes"


def find_run(path: Path | None) -> Path:
    """The run folder given, else the newest under runs/.

    Raises:
        NmtError: there is none.
    """
    if path:
        return path
    newest = _newest(RUNS, "run.json")
    if newest is None:
        raise NmtError("no run under runs/", "train first with nmt train, or name a run folder")
    return newest


def find_model(path: Path | None) -> Path:
    """The run or bundle given, else the newest bundle under exports/, else the newest run.

    Raises:
        NmtError: there is none.
    """
    if path:
        if not path.exists():
            raise NmtError(f"{path}: no such run or bundle")
        return path
    newest = _newest(EXPORTS, "manifest.json") or _newest(RUNS, "run.json")
    if newest is None:
        raise NmtError(
            "no model: neither a bundle under exports/ nor a run under runs/",
            "make one with nmt quickstart, or give one with -m",
        )
    return newest


def _newest(folder: Path, marker: str) -> Path | None:
    # Names with a dot in front are half-written.
    markers = (each for each in folder.glob(f"[!.]*/{marker}"))
    found = [(each.stat().st_mtime_ns, each.parent) for each in markers]
    return max(found)[1] if found else None
