"""A report on a run: one HTML page that needs no other file."""

import base64
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from nmt_cli import __version__, models
from nmt_cli.errors import NmtError
from nmt_cli.evaluate.systems import evaluate, sentence_chrf
from nmt_cli.files import replacing
from nmt_cli.plot.attention import alignment_figure, attention_figure
from nmt_cli.plot.figure import picture
from nmt_cli.plot.history import Records, history_figure, log_records
from nmt_cli.search.forced import align
from nmt_cli.training.run import Run

SAMPLES, WORST, DRAWN = 12, 12, 2
# The attention of sentences with more tokens cannot be read.
_LONGEST = 20


def write_report(folder: Path, page: Path, lines: int, say: Callable[[str], None]) -> None:
    """Translate held-out lines of a run and write a report about it.

    Args:
        folder: of the run.
        page: HTML file to write; text from models and corpora is escaped.
        lines: how many held-out lines to translate.
        say: receives progress messages.

    Raises:
        NmtError: the run is damaged or has an empty log, or the page cannot be written.
    """
    if page.suffix.lower() not in (".html", ".htm"):
        raise NmtError(f"{page}: not the name of an HTML file", "use a name that ends in .html")
    run, records = Run.open(folder), log_records(folder)
    source, references = (each[:lines] for each in run.held_out())
    with replacing(page) as out, models.open(folder) as model:
        say(f"translating {len(source):,} held-out lines")
        next(model.translate(source[:1]))  # compiles, which is no part of the search's time
        began = time.perf_counter()
        translations = list(model.translate(source))
        seconds = time.perf_counter() - began
        say("drawing")
        # The longest sentences whose attention can be read.
        counts = map(len, model.tokenizers.source.encode(source))
        fitting = [
            each
            for each in zip(counts, source, translations, strict=True)
            if 0 < each[0] <= _LONGEST and 0 < len(each[2].ids) <= _LONGEST
        ]
        drawings = []
        for _, line, translation in sorted(fitting, key=lambda each: -each[0])[:DRAWN]:
            maps = model.attention(line)
            heads = _url(attention_figure(maps, model.tokenizers))
            alignment = _url(alignment_figure(align(maps)))
            drawings.append((line, translation.text, heads, alignment))
        tokens = sum(len(each.ids) + 1 for each in translations)
        facts = _facts(model.describe(), records)
        facts["decoding"] = (
            f"{tokens / seconds:,.0f} target tokens per second, {len(source) / seconds:,.1f} "
            f"sentences per second (Keras, beam {run.recipe.decoding.beam_size}; a bundle is "
            "faster)"
        )
        texts = [each.text for each in translations]
        scores = map(sentence_chrf, texts, references)
        sentences = list(zip(source, references, texts, scores, strict=True))
        environment = Environment(
            loader=PackageLoader("nmt_cli.plot", ""),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        html = environment.get_template("page.html").render(
            name=run.recipe.label,
            made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            version=__version__,
            facts=facts,
            scores=evaluate(texts, references),
            lines=len(source),
            history=_url(history_figure({run.recipe.label: records})),
            samples=sentences[:SAMPLES],
            worst=sorted(sentences, key=lambda each: each[3])[:WORST],
            drawings=drawings,
            recipe=run.recipe.dump(),
        )
        out.write(html + "\n")


def _facts(run: dict[str, Any], records: Records) -> dict[str, str]:
    """Return what to report about the model and its training."""
    used = next(each for each in run["checkpoints"] if each["file"] == run["preferred"])
    rates = [each["tokens_per_second"] for each in records if "tokens_per_second" in each] or [0.0]
    vocabulary = run["vocabulary"]
    return {
        "architecture": run["summary"],
        "parameters": f"{run['parameters']:,}",
        "weights": f"{run['preferred']}, {4 * run['parameters'] / 1e6:,.1f} MB in float32",
        "vocabulary": f"{vocabulary['source']:,} source, {vocabulary['target']:,} target",
        "steps": f"{used['step']:,}, in {used['seconds'] / 60:,.1f} minutes",
        "training": f"{statistics.median(rates):,.0f} target tokens per second",
    }


def _url(figure: Figure) -> str:
    """Return a picture as a data URL."""
    return "data:image/png;base64," + base64.b64encode(picture(figure, "png")).decode("ascii")
