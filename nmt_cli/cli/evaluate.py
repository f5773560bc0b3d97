"""nmt evaluate."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from nmt_cli.cli.candidates import InOrder, candidates, recipe_texts, translated
from nmt_cli.cli.options import Hardware, decoding_options, find_model, say
from nmt_cli.cli.streams import check_standard_output
from nmt_cli.errors import NmtError
from nmt_cli.evaluate.texts import EvaluationText, blank_lines, read_text, read_translation
from nmt_cli.search.options import DecodingOptions

if TYPE_CHECKING:
    from nmt_cli.evaluate.evaluation import Evaluation

_PATH = click.Path(path_type=Path)
_FEW = 100  # a rule of thumb


@click.command(
    cls=InOrder,
    epilog="""\b
    Example: nmt evaluate -m exports/mine --source test.pt --reference test.en

    \b
    nmt evaluate --translation old.en --translation new.en --reference test.en
    nmt evaluate -m runs/docs-pt-en --by length --json
    """,
)
@click.option(
    "-m",
    "--model",
    multiple=True,
    type=_PATH,
    help="Run or bundle; repeatable; default, where there is no --translation: the newest under "
    "exports/, else under runs/.",
)
@click.option(
    "--translation",
    "translations",
    multiple=True,
    type=_PATH,
    help="Text to score as it is, one line a sentence; repeatable.",
)
@click.option("--source", type=_PATH, help="Source text, one line a sentence.")
@click.option(
    "--reference",
    "references",
    multiple=True,
    type=_PATH,
    help="Its translation, aligned; repeatable.",
)
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(("length", "domain")),
    help="Scores of parts too: by words of the source (where there is none, of the first "
    "reference), or by --domains, else the recipe's test sets; repeatable.",
)
@click.option("--domains", type=_PATH, help="A label for each line, for --by domain.")
@click.option(
    "--worst",
    type=click.IntRange(1),
    metavar="N",
    help="Show each system's N sentences of the lowest chrF++.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@decoding_options("beam_size", "length_penalty")
@click.pass_context
def evaluate(
    context: click.Context,
    model: tuple[Path, ...],
    translations: tuple[Path, ...],
    source: Path | None,
    references: tuple[Path, ...],
    by: tuple[str, ...],
    domains: Path | None,
    worst: int | None,
    as_json: bool,
    decoding: DecodingOptions,
    hardware: Hardware,
) -> None:
    """BLEU, chrF++ and TER of one or several systems, with their sacreBLEU signatures.

    Systems are models and files of translations. Models translate --source, or the test sets of
    their run's recipe where neither --source nor --reference is given.

    Each score comes with its 95% interval of 1,000 bootstrap draws. The first system is the
    baseline: p says how often draws part another one from it by as much or more, were they
    equally good (paired bootstrap). The draws are the same each time. Less TER is better.

    Tables are parted by tabs, and from each other by a blank line; what their columns are is
    told on stderr:

    \b
    scores   text, metric, score, low, high, p ("-" for the first), system, signature
    --by     text, length or domain, bucket, sentences, BLEU, chrF++, TER, system
    --worst  text, system, line, chrF++, source/reference/translation, sentence

    \b
    --json is one object of the same; null stands for what there is none of:
    systems  [{name, path}], the baseline first
    texts    [{text, sentences, references, results, buckets, worst}]
    results  [{system, metric, score, low, high, p, signature}]
    buckets  {"length" or "domain": [{label, sentences, scores: {system: {metric: score}}}]}
    worst    [{system, line, score, source, references, translation}]
    """
    if context.get_parameter_source("model") is not ParameterSource.COMMANDLINE and translations:
        model = ()  # NMT_MODEL is another default, and this asks for none
    check_standard_output()
    _check(bool(model), translations, source, references, by, domains)
    from nmt_cli.evaluate.evaluation import evaluate_systems

    models = model or (() if translations else (find_model(None),))
    systems = candidates(context, models, translations)
    if references:
        texts = [read_text(source, references, domains)]
    else:
        texts = recipe_texts([each.path for each in systems])
        if "domain" in by and len(texts) == 1:
            raise NmtError(
                f"the recipe of {systems[0].path} names one test set, which is one domain",
                "give --source, --reference and --domains",
            )
    # Files are read, and refused, before a model takes its time.
    lines = {
        each.name: [read_translation(each.path, texts[0], references)]
        for each in systems
        if not each.is_model
    }
    lines |= translated([each for each in systems if each.is_model], texts, decoding, hardware)
    found = []
    for place, text in enumerate(texts):
        of_text = {each.name: lines[each.name][place] for each in systems}
        _warn(text, of_text)
        found.append(evaluate_systems(text, of_text, by, worst or 0))
    if as_json:
        named = [{"name": each.name, "path": str(each.path)} for each in systems]
        tree = {"systems": named, "texts": [each.tree() for each in found]}
        _echo(json.dumps(tree, ensure_ascii=False))
    else:
        _tables(found, bool(by), bool(worst))


def _check(
    models: bool,
    translations: Sequence[Path],
    source: Path | None,
    references: Sequence[Path],
    by: Sequence[str],
    domains: Path | None,
) -> None:
    """Refuse what does not go together, before anything is read."""
    if not references and (source or translations or domains):
        raise click.UsageError("--source, --translation and --domains need --reference")
    if references and not source and (models or not translations):
        raise click.UsageError("--reference needs --source for a model, or a --translation instead")
    if references and "domain" in by and not domains:
        raise click.UsageError("--by domain needs --domains")
    if domains and "domain" not in by:
        raise click.UsageError("--domains is for --by domain")


def _warn(text: EvaluationText, translations: dict[str, list[str]]) -> None:
    """Tell of what makes scores say less than they seem to."""
    from nmt_cli.evaluate.counts import looks_tokenized

    if len(text) < _FEW:
        say(f"{text.name}: {len(text)} sentences are few: intervals and p say little")
    # In files it is refused; a test set that others publish scores on is taken as it is.
    blank = blank_lines(text.references[0], text.source) if text.source else []
    if blank:
        say(f"{text.name}: {len(blank)} references are blank, line {blank[0]} first")
    for name, lines in translations.items():
        if looks_tokenized(lines):
            say(f'{name}: lines end in " .", as tokenized text does; BLEU is for plain text')


def _tables(found: "Sequence[Evaluation]", by: bool, worst: bool) -> None:
    from nmt_cli.evaluate.evaluation import BUCKET_COLUMNS, SCORE_COLUMNS, WORST_COLUMNS

    _table(SCORE_COLUMNS, (row for each in found for row in each.score_rows()))
    if by:
        _echo("")
        _table(BUCKET_COLUMNS, (row for each in found for row in each.bucket_rows()))
    if worst:
        _echo("")
        _table(WORST_COLUMNS, (row for each in found for row in each.worst_rows()))


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows to stdout, their columns' names to stderr, where no program has to skip them."""
    say("\t".join(columns))
    for row in rows:
        _echo("\t".join(field.replace("\t", " ").replace("\r", " ") for field in row))


def _echo(line: str) -> None:
    """UTF-8 whatever the terminal's encoding, as nmt translate writes it."""
    click.echo(line.encode("utf-8", "replace"))
