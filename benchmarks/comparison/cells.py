"""Measure one cell: each side at its own best setting, in turns."""

import importlib.util
import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any

from comparison.ceiling import PRODUCT, PRODUCT_ROWS
from comparison.models import Models
from comparison.plan import (
    SIDES,
    Cell,
    Plan,
    Setting,
    Text,
    Threads,
    latency_rows,
    multiplications,
    quantile,
)
from comparison.process import Workers, in_turns

Tree = dict[str, Any]


def measure_cell(cell: Cell, models: Models, text: Text, plan: Plan, workers: Workers) -> Tree:
    """Find the fastest setting of each side, then measure the sides in turns.

    Args:
        cell: the settings to measure.
        models: the models to measure.
        text: the text to translate.
        plan: repeats and threads.
        workers: the processes of the sides.
    """
    chosen = {side: _fastest(cell, side, plan, workers) for side in SIDES}
    calls = {side: partial(workers.run, side, cell, each) for side, each in chosen.items()}
    if not cell.is_latency and importlib.util.find_spec("onnx"):
        setting = Setting(Threads(1, plan.threads))
        workers.run(PRODUCT, cell, setting)
        calls[PRODUCT] = partial(workers.run, PRODUCT, cell, setting)
    answers = in_turns(calls, plan.repeats)
    ceiling = _ceiling(answers.pop(PRODUCT, []), models)
    rows = latency_rows(len(text.lines)) if cell.is_latency else range(len(text.lines))
    source_tokens = sum(text.source_tokens[row] for row in rows)
    tree: Tree = {
        "precision": cell.precision,
        "beam_size": cell.beam_size,
        "batch": cell.batch,
        "multiplications_per_second_of_the_product_alone": ceiling,
        "sides": {
            side: _side(answers[side], chosen[side], cell, source_tokens, models, text, ceiling)
            for side in SIDES
        },
    }
    ours, theirs = (tree["sides"][side]["tokens_per_second"]["median"] for side in SIDES)
    tree["ratio"] = ours / theirs
    pairs = zip(*(answers[side][0]["translations"] for side in SIDES), strict=True)
    tree["same_translations"] = statistics.mean(left == right for left, right in pairs)
    return tree


def _fastest(cell: Cell, side: str, plan: Plan, workers: Workers) -> Setting:
    """Try each setting once, which also warms up the processes."""
    tried = plan.settings(cell, side)
    answers = in_turns({each: partial(workers.run, side, cell, each) for each in tried}, 1)
    return min(tried, key=lambda each: sum(answers[each][0]["seconds"]))


def _ceiling(answers: Sequence[Tree], models: Models) -> float | None:
    if not answers:
        return None
    work = PRODUCT_ROWS * models.config.d_model * 4 * models.config.d_model
    return work / statistics.median(each["seconds"][0] for each in answers)


def _side(
    answers: Sequence[Tree],
    setting: Setting,
    cell: Cell,
    source_tokens: int,
    models: Models,
    text: Text,
    ceiling: float | None,
) -> Tree:
    translations = answers[0]["translations"]
    # A translation shorter than the limit ends in END, which is a token like any other.
    tokens = sum(len(each) + (len(each) < text.limit) for each in translations)
    seconds = [sum(each["seconds"]) for each in answers]
    work = multiplications(models.config, models.vocabulary, source_tokens, tokens, cell.beam_size)
    calls = [1000 * each for answer in answers for each in answer["seconds"]]
    return {
        "workers": setting.threads.workers,
        "threads_each": setting.threads.each,
        "batch_tokens": setting.batch_tokens,
        "tokens": tokens,
        "sentences": len(translations),
        "seconds": seconds,
        "tokens_per_second": spread([tokens / each for each in seconds]),
        "sentences_per_second": spread([len(translations) / each for each in seconds]),
        "latency_ms": {"p50": quantile(calls, 0.5), "p95": quantile(calls, 0.95)}
        if cell.is_latency
        else None,
        "share_of_product": work / statistics.median(seconds) / ceiling if ceiling else None,
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, minimum and maximum."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}
