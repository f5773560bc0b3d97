"""nmt plot and nmt report."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from msgspec import Meta

from nmt_cli.bundle import ATTENTION, SELF_ATTENTION
from nmt_cli.cli import lookup
from nmt_cli.cli.commands import Group
from nmt_cli.cli.options import PATH, TEXT, Command, Hardware, command, declared_options, say
from nmt_cli.host import import_keras
from nmt_cli.models import kind_of
from nmt_cli.options import NonNegativeInt, PositiveInt, option

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@click.group(
    cls=Group,
    epilog="\b\nExample: nmt plot alignment 'Bom dia!' -m runs/docs-pt-en -o alignment.png",
)
def plot() -> None:
    """Draw attention, masks, positions, embeddings, training curves or data.

    Each plot is written to a PNG or SVG file, by the suffix of -o, or shown in a window.
    """


def _picture(example: str) -> Callable[[Callable[..., "Figure"]], click.Command]:
    """Make a command of a function that returns a figure; add -o and --show."""

    def register(function: Callable[..., "Figure"]) -> click.Command:
        @plot.command(cls=Command, example=f"nmt plot {example}")
        @declared_options
        @click.option("-o", "--output", type=PATH, help="PNG or SVG file to write.")
        @click.option("--show", is_flag=True, help="Show the plot in a window.")
        @wraps(function)
        def draw(output: Path | None, show: bool, **options: Any) -> None:
            if not output and not show:
                raise click.UsageError("give -o FILE, --show, or both")
            from nmt_cli.plot import figure

            if output:
                figure.check_format(output)  # before any model is loaded
            drawn = function(**options)
            if output:
                figure.write(drawn, output)
                say(f"plot written to {output}")
            if show:
                figure.show(drawn)

        return draw

    return register


# Options of the plots of a sentence.
TARGET: str | None = option(None, "Its translation; default: the model's own.")
MODEL: Path | None = option(
    None,
    "Run, or bundle exported with --attention. Default: that of nmt translate, or the newest run.",
    flags="-m",
)


def _with_attention(model: Path | None, part: str = "cross") -> Path:
    """Return the model given, or the default one, or the newest run if that lacks such weights."""
    folder, graph = lookup.find_model(model), ATTENTION if part == "cross" else SELF_ATTENTION
    if model or kind_of(folder) == "run" or (folder / graph).exists():
        return folder
    return lookup.find_run(None, f"{folder} has no {part} attention weights")


@_picture("attention 'Bom dia!' -m runs/docs-pt-en -o heads.png")
@click.argument("source", type=TEXT)
def attention(
    source: str,
    target: str | None = TARGET,
    model: Path | None = MODEL,
    part: Literal["cross", "encoder", "decoder"] = option(
        "cross",
        "Attention to the source, or self-attention, which a bundle has if it was exported with "
        "--attention all.",
    ),
    layer: PositiveInt | None = option(None, "Draw only this layer, from 1."),
    head: PositiveInt | None = option(None, "Draw only this head, from 1."),
) -> "Figure":
    """Draw each attention head for the sentence SOURCE and its translation."""
    from nmt_cli.plot.attention import attention_figure

    with lookup.open_model([_with_attention(model, part)], Hardware()) as opened:
        maps = opened.attention(source, target)
        return attention_figure(maps, opened, part, layer, head)


@_picture("alignment 'Oi!' --target 'Hi!' -m runs/docs-pt-en -o a.svg")
@click.argument("source", type=TEXT)
def alignment(source: str, target: str | None = TARGET, model: Path | None = MODEL) -> "Figure":
    """Draw the word alignment of the sentence SOURCE and its translation."""
    from nmt_cli.plot.attention import alignment_figure

    with lookup.open_model([_with_attention(model)], Hardware()) as opened:
        return alignment_figure(opened.attention(source, target), opened)


@_picture("masks 'Oi!' --target 'Hi!' -m runs/docs-pt-en -o masks.png")
@click.argument("source", nargs=-1, required=True, type=TEXT)
def masks(
    source: tuple[str, ...],
    targets: tuple[str, ...] = option(
        (),
        "Translation of each SOURCE, in order; repeatable; default: the model's own.",
        flags="--target",
    ),
    ids: bool = option(
        False,
        "SOURCE and `target` are token ids, as in '7 6 3 0 0'; 0 is padding. Needs no model; "
        "default of `target`: the same ids.",
    ),
    model: Path | None = option(None, "Run or bundle; default: as for nmt translate.", flags="-m"),
) -> "Figure":
    """Draw which tokens may attend to which in a batch of the sentences SOURCE and translations.

    The source mask applies to the encoder and to the attention of the decoder to the source, the
    target mask to the decoder. The causal mask is what all target masks have in common.
    """
    if targets and len(targets) != len(source):
        raise click.UsageError("give one --target for each SOURCE, or none")
    rows = [list(map(_token_id, text.split())) for text in (source + targets if ids else ())]
    if ids and not all(rows):
        raise click.UsageError("--ids: give at least one id for each sentence")
    import_keras()
    from nmt_cli.plot.inputs import masks_figure, model_masks

    if ids:
        return masks_figure(rows[: len(source)], rows[-len(source) :])
    with lookup.open_model([model], Hardware()) as opened:
        return model_masks(opened, source, targets)


def _token_id(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise click.UsageError(f"--ids: {word!r} is not a token id")
    return int(word)


@_picture("positions transformer-tutorial -o positions.png")
@click.argument("model")
def positions(
    model: str,
    overrides: tuple[str, ...] = lookup.OVERRIDES,
    length: Annotated[int, Meta(ge=2, le=100_000)] = option(
        128, "Number of positions; default: 128."
    ),
    side: Literal["source", "target"] = option(
        "source", "Side whose positions to draw, if they are learned and not shared."
    ),
    dimensions: tuple[NonNegativeInt, ...] = option(
        (), "Dimension to draw as a curve, from 0; repeatable; default: four.", flags="--dimension"
    ),
    curves: Literal["dimensions", "all", "positions"] = option(
        "dimensions",
        "Curves next to the heat map: some dimensions over the positions, all of them stacked, or "
        "some positions over the dimensions, stacked.",
    ),
    drawn: tuple[NonNegativeInt, ...] = option(
        (), "Position to draw as a curve, from 0; repeatable; default: 16.", flags="--position"
    ),
) -> "Figure":
    """Draw the position vectors of MODEL, a recipe or a run: a heat map, and curves."""
    from nmt_cli.training.run import Run

    for flag, given in {"dimension": dimensions, "position": drawn}.items():
        if given and curves != f"{flag}s":
            raise click.UsageError(f"--{flag} needs --curves {flag}s")
    path = Path(model)
    run = Run.open(path) if path.is_dir() and kind_of(path) == "run" else None
    if run and overrides:
        raise click.UsageError("--set is for recipes; a run keeps the settings it was trained with")
    recipe = run.recipe if run else lookup.find_recipe(model, overrides)
    import_keras()
    from nmt_cli.plot.inputs import position_table, positions_figure

    table, title = position_table(recipe, run, length, side)
    return positions_figure(table, title, dimensions or drawn, curves)


@_picture("embeddings --words gato,casa -m runs/docs-pt-en -o a.png")
def embeddings(
    words: str = option(
        "",
        "Words to draw with their nearest neighbours; default: the first 100 of the vocabulary, "
        "which are frequent, without neighbours.",
        metavar="WORD,...",
    ),
    side: Literal["source", "target"] = option("source", "Side whose embeddings to draw."),
    model: Path | None = option(None, "Run or bundle; default: as for nmt translate.", flags="-m"),
) -> "Figure":
    """Draw words where their embeddings are, in two dimensions, and their nearest neighbours."""
    from nmt_cli.plot.embeddings import embedding_matrix, embeddings_figure

    chosen = [word.strip() for word in words.split(",") if word.strip()]
    with lookup.open_model([model], Hardware()) as opened:
        tokenizer = getattr(opened.tokenizers, side)
        title = f"{opened.path.absolute().name}: {side} embeddings"
        return embeddings_figure(embedding_matrix(opened, side), tokenizer, title, chosen)


@_picture("schedule ted-pt-en docs-pt-en -o schedule.png")
@click.argument("recipes", nargs=-1, required=True, metavar="RECIPE...")
def schedule(
    recipes: tuple[str, ...],
    overrides: tuple[str, ...] = lookup.OVERRIDES,
    steps: Annotated[int, Meta(ge=2)] | None = option(None, "Steps; default: training.max_steps."),
) -> "Figure":
    """Draw the learning rate schedule of each RECIPE."""
    loaded = {name: lookup.find_recipe(name, overrides) for name in recipes}
    import_keras()
    from nmt_cli.plot.training import learning_rates, schedule_figure

    return schedule_figure({name: learning_rates(recipe, steps) for name, recipe in loaded.items()})


@_picture("history runs/docs-pt-en runs/ted-pt-en -o history.svg")
@click.argument("runs", nargs=-1, type=PATH, metavar="[RUN]...")
def history(runs: tuple[Path, ...]) -> "Figure":
    """Draw loss, accuracy, BLEU and learning rate of each RUN (default: the newest)."""
    from nmt_cli.plot.training import history_figure, log_records

    return history_figure({str(run): log_records(run) for run in runs or (lookup.find_run(None),)})


@_picture("lengths docs-pt-en -o lengths.png")
@click.argument("recipe", default=lookup.DEFAULT_RECIPE)
def lengths(
    recipe: str,
    overrides: tuple[str, ...] = lookup.OVERRIDES,
    prepared: Path | None = option(None, "Prepared data; default: prepared/NAME."),
) -> "Figure":
    """Draw the lengths of RECIPE's training sentences, and how well they fill its batches."""
    loaded = lookup.find_recipe(recipe, overrides)
    from nmt_cli.data.prepared import Prepared
    from nmt_cli.plot.training import first_epoch, lengths_figure

    opened = Prepared.open(prepared or lookup.PREPARED / loaded.label)
    return lengths_figure(first_epoch(opened, loaded), opened.languages, loaded.label)


@command(example="nmt report runs/docs-pt-en -o docs.html")
@click.argument("run", required=False, type=PATH)
def report(
    run: Path | None,
    output: Path | None = option(None, "HTML file; default: report.html in the run.", flags="-o"),
    lines: PositiveInt = option(200, "Number of held-out lines to translate; default: 200."),
) -> None:
    """Write a report on a run, as one HTML page.

    RUN is the newest under runs/ by default. The page needs no other file. It shows scores with
    their signatures, model, speed and size, training curves, translations next to their references,
    the worst sentences, attention and the recipe.
    """
    folder = lookup.find_run(run)
    page = output or folder / "report.html"
    import_keras()
    from nmt_cli.plot.report import write_report

    write_report(folder, page, lines)
    say(f"report written to {page}")
