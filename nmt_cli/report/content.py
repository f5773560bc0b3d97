"""What a report tells: gathered here, laid out in page.html."""

import base64
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from matplotlib.figure import Figure

from nmt_cli import __version__
from nmt_cli.evaluate.metrics import Score, evaluate, sentence_chrf
from nmt_cli.model.attention_maps import model_attention
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.plot.attention import alignment_figure, attention_figure
from nmt_cli.plot.figure import picture
from nmt_cli.plot.history import history_figure
from nmt_cli.plot.tables import log_records
from nmt_cli.search.attention import align
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import Translation, Translator
from nmt_cli.text.tokenizer import Tokenizer
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run

SAMPLES, WORST, LOOKED_AT = 12, 12, 2
# Sentences whose attention is drawn have so many tokens at most: more cannot be read.
_LONGEST = 20


@dataclass(frozen=True)
class Sentence:
    """A held-out line.

    Attributes:
        chrf: of this translation alone, 0 to 100.
    """

    source: str
    reference: str
    translation: str
    chrf: float


@dataclass(frozen=True)
class Look:
    """What the model looked at in a sentence; pictures as data URLs."""

    source: str
    translation: str
    heads: str
    alignment: str


@dataclass(frozen=True)
class Report:
    """All that the page shows.

    Attributes:
        facts: names and values of the model, its training and its speed.
        history: a picture, as a data URL.
    """

    name: str
    made: str
    version: str
    facts: list[tuple[str, str]]
    scores: list[Score]
    lines: int
    history: str
    samples: list[Sentence]
    worst: list[Sentence]
    looks: list[Look]
    recipe: str


def gather(folder: Path, lines: int, say: Callable[[str], None] = print) -> Report:
    """Translate a run's held-out lines and draw what there is to see.

    Args:
        folder: of the run.
        lines: how many of the held-out lines are translated.
        say: receives lines for people.

    Raises:
        NmtError: the run is damaged, or holds no line and no log.
    """
    run = Run.open(folder)
    records = log_records(folder)
    model, progress = trained_model(run, run.preferred)
    decoding, tokenizers = run.recipe.decoding, run.tokenizers()
    options = SearchOptions.of(decoding)
    translator = Translator(KerasStepModel(model), tokenizers, options, decoding.max_source)
    source, reference = (each[:lines] for each in run.held_out())
    say(f"translating {len(source):,} held-out lines")
    next(translator.translate(source[:1]))  # what is compiled once is not the search's time
    began = time.perf_counter()
    translations = list(translator.translate(source))
    seconds = time.perf_counter() - began
    texts = [each.text for each in translations]
    sentences = [
        Sentence(*each, sentence_chrf(each[2], each[1]))
        for each in zip(source, reference, texts, strict=True)
    ]
    say("drawing")
    looks = []
    for line, translation in _short(source, translations, tokenizers.source):
        maps = model_attention(model, tokenizers, line, translation.ids)
        heads = _url(attention_figure(maps, tokenizers))
        words = _url(alignment_figure(align(maps, tokenizers)))
        looks.append(Look(line, translation.text, heads, words))
    rates = [each["tokens_per_second"] for each in records if "tokens_per_second" in each] or [0.0]
    weights = run.preferred
    tokens = sum(len(each.ids) + 1 for each in translations)
    facts = [
        ("architecture", run.recipe.model.architecture),
        ("parameters", f"{model.count_params():,}"),
        ("weights", f"{weights.name}, {4 * model.count_params() / 1e6:,.1f} MB in float32"),
        ("vocabulary", f"{run.source_vocab:,} source, {run.target_vocab:,} target"),
        ("steps", f"{progress.step:,}, in {progress.seconds / 60:,.1f} minutes"),
        ("training", f"{statistics.median(rates):,.0f} target tokens a second"),
        (
            "decoding",
            f"{tokens / seconds:,.0f} target tokens a second, {len(source) / seconds:,.1f} "
            f"sentences (Keras, beam {options.beam_size}; a bundle is faster)",
        ),
    ]
    return Report(
        run.recipe.label,
        datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        __version__,
        facts,
        evaluate(texts, reference),
        len(source),
        _url(history_figure({run.recipe.label: records})),
        sentences[:SAMPLES],
        sorted(sentences, key=lambda each: each.chrf)[:WORST],
        looks,
        run.recipe.dump(),
    )


def _short(
    source: list[str], translations: list[Translation], tokenizer: Tokenizer
) -> list[tuple[str, Translation]]:
    """The longest of the sentences that can be drawn, LOOKED_AT of them."""
    pieces = [len(each) for each in tokenizer.encode(source)]
    fitting = [
        (count, row)
        for row, (count, each) in enumerate(zip(pieces, translations, strict=True))
        if 0 < count <= _LONGEST and 0 < len(each.ids) <= _LONGEST
    ]
    chosen = [row for _, row in sorted(fitting, key=lambda each: (-each[0], each[1]))[:LOOKED_AT]]
    return [(source[row], translations[row]) for row in chosen]


def _url(figure: Figure) -> str:
    """A picture within the page."""
    return "data:image/png;base64," + base64.b64encode(picture(figure, "png")).decode("ascii")
