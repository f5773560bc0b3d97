"""nmt plot."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nmt_cli.cli.commands import Group
from nmt_cli.cli.options import (
    PREPARED,
    find_model,
    find_recipe,
    find_run,
    recipe_argument,
    say,
    set_option,
)
from nmt_cli.errors import NmtError
from nmt_cli.frameworks import import_keras

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@click.group(
    cls=Group,
    epilog="\b\nExample: nmt plot alignment 'Onde fica a farmácia?' -o alignment.png",
)
def plot() -> None:
    """Draw what a model looks at, how its training went, and the text it learned from.

    Each picture is written as PNG or SVG, as the name after -o ends, or shown in a window.
    """


def _picture_options(command: Callable[..., Any]) -> Callable[..., Any]:
    output = click.option(
        "-o", "--output", type=click.Path(path_type=Path), help="PNG or SVG file to write."
    )
    show = click.option("--show", is_flag=True, help="Open a window with the picture.")
    return output(show(command))


def _model_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "-m",
        "--model",
        type=click.Path(path_type=Path),
        help="Run, or bundle exported with --attention; default: the newest under exports/, else "
        "under runs/.",
    )(command)


def _check_picture(output: Path | None, show: bool) -> None:
    """Before any model is loaded."""
    if not output and not show:
        raise click.UsageError("give -o FILE, --show, or both")
    from nmt_cli.plot.figure import check_format

    if output:
        check_format(output)


def _deliver(figure: "Figure", output: Path | None, show: bool) -> None:
    from nmt_cli.plot import figure as drawn

    if output:
        drawn.write(figure, output)
        say(f"picture written to {output}")
    if show:
        drawn.show(figure)


@plot.command(epilog="\b\nExample: nmt plot attention 'Bom dia!' -m runs/docs-pt-en -o heads.png")
@click.argument("source")
@click.option("--target", help="Its translation; default: the model's own, as it is decoded.")
@_model_option
@click.option(
    "--part",
    type=click.Choice(("cross", "encoder", "decoder")),
    default="cross",
    show_default=True,
    help="Translation on source, source on itself, or translation on itself.",
)
@click.option("--layer", type=int, help="That layer alone, from 1.")
@click.option("--head", type=int, help="That head alone, from 1.")
@_picture_options
def attention(
    source: str,
    target: str | None,
    model: Path | None,
    part: str,
    layer: int | None,
    head: int | None,
    output: Path | None,
    show: bool,
) -> None:
    """What each head of each layer looks at in the sentence SOURCE and its translation."""
    _check_picture(output, show)
    from nmt_cli.plot.attention import attention_figure

    maps, tokenizers = _looked_at(model, source, target)
    _deliver(attention_figure(maps, tokenizers, part, layer, head), output, show)


@plot.command(epilog="\b\nExample: nmt plot alignment 'Bom dia!' --target 'Good morning!' -o a.svg")
@click.argument("source")
@click.option("--target", help="Its translation; default: the model's own, as it is decoded.")
@_model_option
@_picture_options
def alignment(
    source: str, target: str | None, model: Path | None, output: Path | None, show: bool
) -> None:
    """Which words of the sentence SOURCE its translation's words come from."""
    _check_picture(output, show)
    from nmt_cli.plot.attention import alignment_figure
    from nmt_cli.search.attention import align

    maps, tokenizers = _looked_at(model, source, target)
    _deliver(alignment_figure(align(maps, tokenizers)), output, show)


def _looked_at(model: Path | None, source: str, target: str | None) -> Any:
    from nmt_cli.models import open

    opened = open(find_model(model), warn=say)
    return opened.attention(source, target), opened.tokenizers


@plot.command(
    epilog="\b\nExample: nmt plot masks 'Good morning!' Yes -m runs/docs-pt-en -o masks.png"
)
@click.argument("text", nargs=-1, required=True)
@click.option(
    "-m", "--model", type=click.Path(path_type=Path), help="Run; default: the newest under runs/."
)
@_picture_options
def masks(text: tuple[str, ...], model: Path | None, output: Path | None, show: bool) -> None:
    """Which tokens of the sentences TEXT, batched as translations, may look at which."""
    _check_picture(output, show)
    folder = find_run(model)
    import_keras()
    from nmt_cli.plot.masks import masks_figure
    from nmt_cli.training.run import Run

    run = Run.open(folder)
    pad_ids = getattr(run.recipe.model, "pad_ids", None)
    if pad_ids is None:
        raise NmtError(
            f"{folder}: a model without self-attention masks only the padding of its source",
            "use a Transformer",
        )
    tokenizer = run.tokenizers().target
    ids = tokenizer.encode(list(text))
    _deliver(masks_figure(ids, tokenizer, pad_ids), output, show)


@plot.command(epilog="\b\nExample: nmt plot positions transformer-tutorial -o positions.png")
@click.argument("model")
@set_option()
@click.option(
    "--length",
    type=click.IntRange(2, 100_000),
    default=128,
    show_default=True,
    help="How many positions.",
)
@click.option(
    "--side",
    type=click.Choice(("source", "target")),
    default="source",
    show_default=True,
    help="Whose positions, where they are learned and not shared.",
)
@click.option(
    "--dimension",
    "dimensions",
    type=click.IntRange(0),
    multiple=True,
    help="Draw the curve of this one, from 0; repeatable. Default: four.",
)
@_picture_options
def positions(
    model: str,
    overrides: tuple[str, ...],
    length: int,
    side: str,
    dimensions: tuple[int, ...],
    output: Path | None,
    show: bool,
) -> None:
    """The position vectors of MODEL, a recipe or a run: a heat map, and curves by dimension."""
    _check_picture(output, show)
    import_keras()
    from nmt_cli.plot.positions import positions_figure
    from nmt_cli.plot.tables import position_table

    run = Path(model) if (Path(model) / "run.json").exists() else None
    if run and overrides:
        raise click.UsageError("--set is for a recipe; a run is as it was trained")
    recipe = None if run else find_recipe(model, overrides)
    table, title = position_table(run, recipe, length, side)
    wrong = [each for each in dimensions if each >= table.shape[1]]
    if wrong:
        raise NmtError(
            f"--dimension {wrong[0]}: the model has {table.shape[1]}",
            f"give 0 to {table.shape[1] - 1}",
        )
    _deliver(positions_figure(table, title, list(dimensions)), output, show)


@plot.command(epilog="\b\nExample: nmt plot schedule ted-pt-en docs-pt-en -o schedule.png")
@click.argument("recipes", nargs=-1, required=True, metavar="RECIPE...")
@set_option()
@click.option("--steps", type=click.IntRange(2), help="How many; default: training.max_steps.")
@_picture_options
def schedule(
    recipes: tuple[str, ...],
    overrides: tuple[str, ...],
    steps: int | None,
    output: Path | None,
    show: bool,
) -> None:
    """The learning rates that each RECIPE plans."""
    _check_picture(output, show)
    loaded = {name: find_recipe(name, overrides) for name in recipes}
    import_keras()
    from nmt_cli.plot.schedule import schedule_figure
    from nmt_cli.plot.tables import learning_rates

    rates = {name: learning_rates(each, steps) for name, each in loaded.items()}
    _deliver(schedule_figure(rates), output, show)


@plot.command(epilog="\b\nExample: nmt plot history runs/docs-pt-en runs/ted-pt-en -o history.svg")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN]...")
@_picture_options
def history(runs: tuple[Path, ...], output: Path | None, show: bool) -> None:
    """Loss, accuracy, BLEU and learning rate of each RUN (default: the newest)."""
    _check_picture(output, show)
    from nmt_cli.plot.history import history_figure
    from nmt_cli.plot.tables import log_records

    folders = runs or (find_run(None),)
    records = {str(each): log_records(each) for each in folders}
    _deliver(history_figure(records), output, show)


@plot.command(epilog="\b\nExample: nmt plot lengths docs-pt-en -o lengths.png")
@recipe_argument(required=False)
@set_option()
@click.option(
    "--prepared",
    type=click.Path(path_type=Path),
    help="Folder of the prepared data; default: prepared/NAME.",
)
@_picture_options
def lengths(
    recipe: str,
    overrides: tuple[str, ...],
    prepared: Path | None,
    output: Path | None,
    show: bool,
) -> None:
    """How long RECIPE's training sentences are, and how well they fill its batches."""
    _check_picture(output, show)
    loaded = find_recipe(recipe, overrides)
    from nmt_cli.data.prepared import Prepared
    from nmt_cli.plot.lengths import lengths_figure
    from nmt_cli.plot.tables import first_epoch

    opened = Prepared.open(prepared or PREPARED / loaded.label)
    figure = lengths_figure(first_epoch(opened, loaded), opened.languages, loaded.label)
    _deliver(figure, output, show)
