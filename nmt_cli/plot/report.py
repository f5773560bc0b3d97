"""A report on a run: one HTML page that needs no other file."""

import base64
import logging
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template
from matplotlib.figure import Figure

from nmt_cli import __version__, models
from nmt_cli.errors import OutputError
from nmt_cli.evaluate.evaluation import evaluate_systems
from nmt_cli.evaluate.texts import EvaluationText
from nmt_cli.files import replacing
from nmt_cli.models import TranslationModel
from nmt_cli.plot.attention import alignment_figure, attention_figure
from nmt_cli.plot.figure import picture
from nmt_cli.plot.training import Records, history_figure, log_records
from nmt_cli.search.lines import Translation
from nmt_cli.training.run import Run

logger = logging.getLogger(__name__)

SAMPLES, WORST, DRAWN = 12, 12, 2
_MAX_DRAWN = 20  # tokens; the attention of longer sentences cannot be read


def write_report(folder: Path, page: Path, lines: int) -> None:
    """Translate held-out lines of a run and write a page about it. Text is escaped."""
    if page.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"{page}: not the name of an HTML file", "use a name that ends in .html")
    run, records = Run.open(folder), log_records(folder)
    source, references = (side[:lines] for side in run.held_out())
    with replacing(page) as out, models.open(folder) as model:
        logger.info(f"translating {len(source):,} held-out lines")
        next(model.translate(source[:1]))  # compiles, which is not part of the search's time
        began = time.perf_counter()
        translations = list(model.translate(source))
        seconds = time.perf_counter() - began
        logger.info("drawing")
        tokens = sum(len(translation.ids) + 1 for translation in translations)
        facts = _facts(model.describe(), records)
        speed = f"{tokens / seconds:,.0f} target tokens per second"
        rate = f"{len(source) / seconds:,.1f} sentences per second"
        beam = run.recipe.decoding.beam_size
        facts["decoding"] = f"{speed}, {rate} (Keras, beam {beam}; a bundle is faster)"
        texts = [translation.text for translation in translations]
        text, systems = EvaluationText("held-out", source, [references]), {"model": texts}
        target = run.recipe.data.target
        evaluation = evaluate_systems(text, systems, (), len(source), language=target)
        template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
        settings = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
        html = Template(template, autoescape=True, **settings).render(
            name=run.recipe.label,
            made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            version=__version__,
            facts=facts,
            scores=evaluation.results,
            lines=len(source),
            history=_url(history_figure({run.recipe.label: records})),
            samples=sorted(evaluation.worst, key=lambda sentence: sentence.line)[:SAMPLES],
            worst=evaluation.worst[:WORST],
            drawings=_drawings(model, source, translations),
            recipe=run.recipe.dump(),
        )
        out.write(html + "\n")


def _drawings(
    model: TranslationModel, source: list[str], translations: list[Translation]
) -> list[tuple[str, str, str, str]]:
    """Draw attention and alignment of the longest sentences that can be read, if there is any."""
    if not model.has_attention:
        return []
    counts = map(len, model.tokenizers.source.encode(source))
    readable = [
        (count, line, translation)
        for count, line, translation in zip(counts, source, translations, strict=True)
        if 0 < count <= _MAX_DRAWN and 0 < len(translation.ids) <= _MAX_DRAWN
    ]
    drawings = []
    for _, line, translation in sorted(readable, key=lambda sentence: -sentence[0])[:DRAWN]:
        maps = model.attention(line)
        heads = _url(attention_figure(maps, model))
        alignment = _url(alignment_figure(maps, model))
        drawings.append((line, translation.text, heads, alignment))
    return drawings


def _facts(run: dict[str, Any], records: Records) -> dict[str, str]:
    used = next(row for row in run["checkpoints"] if row["file"] == run["preferred"])
    key, vocabulary = "tokens_per_second", run["vocabulary"]
    rates = [record[key] for record in records if key in record] or [0.0]
    return {
        "architecture": run["summary"],
        "parameters": f"{run['parameters']:,}",
        "weights": f"{run['preferred']}, {4 * run['parameters'] / 1e6:,.1f} MB in float32",
        "vocabulary": f"{vocabulary['source']:,} source, {vocabulary['target']:,} target",
        "steps": f"{used['step']:,}, in {used['seconds'] / 60:,.1f} minutes",
        "training": f"{statistics.median(rates):,.0f} target tokens per second",
    }


def _url(figure: Figure) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(picture(figure, "svg")).decode("ascii")
