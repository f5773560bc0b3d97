"""nmt evaluate."""

from collections.abc import Iterator
from pathlib import Path

import click

from nmt_cli.cli.options import DecodingOptions, decoding_options, find_model, say
from nmt_cli.errors import NmtError


@click.command(
    epilog="Example: nmt evaluate -m exports/docs-pt-en --source test.pt --reference test.en"
)
@click.option(
    "-m",
    "--model",
    type=click.Path(path_type=Path),
    help="Run or bundle; default: the newest under exports/, else under runs/.",
)
@click.option("--source", type=click.Path(path_type=Path), help="Source text, one line a sentence.")
@click.option("--reference", type=click.Path(path_type=Path), help="Its translation, aligned.")
@click.option(
    "--translation",
    type=click.Path(path_type=Path),
    help="Score this text against --reference instead of a model's translation.",
)
@decoding_options()
def evaluate(
    model: Path | None,
    source: Path | None,
    reference: Path | None,
    translation: Path | None,
    decoding: DecodingOptions,
) -> None:
    """BLEU and chrF, with their sacreBLEU signatures.

    Of a model on --source and --reference, or on the test sets of its run's recipe; or of a
    given --translation against --reference.
    """
    from nmt_cli.evaluate.metrics import evaluate as score

    for name, hypotheses, references in _systems(model, source, reference, translation, decoding):
        for each in score(hypotheses, references):
            click.echo(f"{name}\t{each.name}\t{each.value:.2f}\t{each.signature}")


def _systems(
    model: Path | None,
    source: Path | None,
    reference: Path | None,
    translation: Path | None,
    decoding: DecodingOptions,
) -> Iterator[tuple[str, list[str], list[str]]]:
    """What is to be scored: (name, translations, references)."""
    if translation or source:
        if not reference or (translation and source):
            raise click.UsageError(
                "give --source and --reference, or --translation and --reference"
            )
    elif reference:
        raise click.UsageError("--reference needs --source or --translation")
    if translation and reference:
        yield translation.name, *_paired(translation, reference)
        return
    folder = find_model(model)
    if source and reference:
        sets = [(source.name, _paired(source, reference))]
    else:
        sets = _recipe_tests(folder)
    from nmt_cli.cli.models import load_translator

    translator = load_translator(folder, decoding, sentences=sum(len(each[0]) for _, each in sets))
    for name, (lines, references) in sets:
        say(f"translating {len(lines):,} lines of {name}")
        yield name, [each.text for each in translator.translate(lines)], references


def _paired(source: Path, reference: Path) -> tuple[list[str], list[str]]:
    from nmt_cli.text.lines import read_lines

    lines, references = read_lines(source), read_lines(reference)
    if len(lines) != len(references):
        raise NmtError(
            f"{source} has {len(lines)} lines, {reference} has {len(references)}",
            "parallel files need one sentence a line, aligned",
        )
    return lines, references


def _recipe_tests(folder: Path) -> list[tuple[str, tuple[list[str], list[str]]]]:
    if not (folder / "run.json").exists():
        raise NmtError(f"{folder}: a bundle names no test set", "give --source and --reference")
    from nmt_cli.data.corpus import read_corpus
    from nmt_cli.training.run import Run

    data = Run.open(folder).recipe.data
    if not data.test:
        raise NmtError(f"the recipe of {folder} names no test set", "give --source and --reference")
    corpora = [read_corpus(each, data) for each in data.test]
    return [(corpus.name, (corpus.source, corpus.target)) for corpus in corpora]
