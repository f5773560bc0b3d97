"""Measure how fast a bundle translates on this machine."""

import datetime
import importlib.metadata
import logging
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from itertools import chain, product
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from nmt_cli import __version__, models
from nmt_cli.errors import InputError, ResourceError
from nmt_cli.host import cores, peak_memory, processor
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.segments import BeamSearch
from nmt_cli.search.step_model import StepModel
from nmt_cli.search.translator import Translator
from nmt_cli.text.lines import is_blank
from nmt_cli.text.tokenizer import END_ID

logger = logging.getLogger(__name__)

# In place of a number of sentences: batches as nmt translate makes them.
OWN = 0
# Sentences that are translated one at a time, taken at regular intervals from the text.
LATENCY_SENTENCES = 64

Tree = dict[str, Any]


def measure(
    folders: Mapping[str, Path],
    lines: Sequence[str],
    beam_sizes: Sequence[int],
    batches: Sequence[int],
    repeats: int,
    threads: int | None,
    forced_length: int | None,
) -> Tree:
    """Measure all combinations, each in its own process; :func:`table` formats the results.
    ``folders`` are bundles by precision. See :func:`measure_cell` for the other arguments."""
    lines = [line for line in lines if not is_blank(line)]
    if not lines:
        raise InputError("the text has no sentences", "give source lines with `text`")
    settings: Tree = {"repeats": repeats, "threads": threads, "forced_length": forced_length}
    cells = []
    for (precision, folder), beam_size, batch in product(folders.items(), beam_sizes, batches):
        logger.info(f"{precision}, beam {beam_size}, batch {batch or 'own'}")
        # On Ctrl-C the child exits without a traceback.
        initializer = (signal.signal, (signal.SIGINT, signal.SIG_DFL))
        with ProcessPoolExecutor(1, get_context("spawn"), *initializer) as process:
            work = process.submit(measure_cell, folder, lines, beam_size, batch, **settings)
            try:
                cell = work.result()
            except BrokenProcessPool:
                raise ResourceError("the measuring process was killed", "out of memory?") from None
        cells.append({"precision": precision, "beam_size": beam_size, "batch": batch, **cell})
    packages = {name: importlib.metadata.version(name) for name in ("onnxruntime", "numpy")}
    return {
        "format": 2,
        "machine": {"date": datetime.date.today().isoformat(), "cores": cores(), **processor()},
        "versions": {"nmt": __version__, "python": sys.version.split()[0], **packages},
        "settings": {**settings, "lines": len(lines)},
        "cells": cells,
    }


def measure_cell(
    folder: Path,
    lines: Sequence[str],
    beam_size: int,
    batch: int,
    repeats: int,
    threads: int | None,
    forced_length: int | None,
) -> Tree:
    """Load a bundle and translate the lines repeatedly.

    Args:
        batch: sentences per batch; 1 measures latency; OWN leaves the batches to nmt translate.
        repeats: how often the lines are translated, after one round that is not counted.
        forced_length: tokens of every translation; None for as many as the model produces.
    """
    import nmt_cli.runtime.load  # noqa: F401  keeps imports out of the load time

    began = time.perf_counter()
    with models.open(folder, threads=threads) as model:
        options = DecodingOptions(beam_size=beam_size, max_length=forced_length)
        translator = model.translator(options, single=batch == 1)
        load_seconds = time.perf_counter() - began
        if forced_length:  # whatever the length of the source
            search = replace(translator.options, length_ratio=0, length_extra=forced_length)
            forced = BeamSearch(endless(translator.model), translator.tokenizers)
            path = replace(translator.path, edits=False)
            translator = replace(translator, options=search, search=forced, path=path)
        if batch == 1:
            count = min(len(lines), LATENCY_SENTENCES)
            lines = [lines[index * len(lines) // count] for index in range(count)]
        rounds = [_translate(translator, lines, batch) for _ in range(repeats + 1)][1:]
    tokens, seconds = rounds[0][1], [sum(times) for times, _ in rounds]
    calls = [1000 * seconds for times, _ in rounds for seconds in times]
    p50, p95 = np.percentile(calls, (50, 95), method="inverted_cdf").tolist()
    return {
        "workers": translator.workers,
        "sentences": len(lines),
        "tokens": tokens,
        "seconds": seconds,
        "tokens_per_second": {
            "median": tokens / statistics.median(seconds),
            "min": tokens / max(seconds),
            "max": tokens / min(seconds),
        },
        "sentences_per_second": len(lines) / statistics.median(seconds),
        "latency_ms": {"p50": p50, "p95": p95} if batch == 1 else None,
        "load_seconds": load_seconds,
        "peak_mib": peak_memory() / 2**20,
    }


def endless(model: StepModel) -> Any:
    """Return a step model that never ends a translation; min_length would slow the search."""

    def step(*arguments: Any) -> Any:
        candidates, state = model.step(*arguments)
        ids = np.where(candidates.ids == END_ID, np.int32(END_ID + 1), candidates.ids)
        return replace(candidates, ids=ids), state

    return SimpleNamespace(encode=model.encode, step=step, select=model.select)


def _translate(translator: Translator, lines: Sequence[str], batch: int) -> tuple[list[float], int]:
    """Return the seconds of each call (one per sentence for batch 1) and the target tokens."""
    if batch == 1:
        calls = [_translate(translator, [line], OWN) for line in lines]
        return [seconds for (seconds,), _ in calls], sum(tokens for _, tokens in calls)
    began = time.perf_counter()
    if batch == OWN:
        translations = list(translator.translate(lines))
    else:
        one = replace(translator, workers=1, batch_tokens=sys.maxsize)
        lengths = [len(ids) for ids in translator.tokenizers.source.encode(lines)]
        ordered = [line for _, line in sorted(zip(lengths, lines, strict=True), reverse=True)]
        groups = [ordered[start : start + batch] for start in range(0, len(ordered), batch)]
        with ThreadPoolExecutor(translator.workers) as pool:
            results = pool.map(lambda group: list(one.translate(group)), groups)
            translations = list(chain.from_iterable(results))
    tokens = sum(len(translation.tokens) for translation in translations)
    return [time.perf_counter() - began], tokens


def table(results: Tree) -> Iterator[str]:
    """Format the results of :func:`measure` as lines of text."""
    host, settings = results["machine"], results["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    yield f"{host['date']}, {host['cpu']} ({' '.join(host['instructions'])}), {versions}"
    threads = settings["threads"] or host["cores"]
    yield f"{settings['lines']} lines, {threads} threads, median of {settings['repeats']} rounds"
    form = "{:<9} {:>4} {:>5} {:>9} {:>17} {:>11} {:>7} {:>7} {:>6} {:>8}"
    heads = ("precision", "beam", "batch", "tokens/s", "minimum-maximum", "sentences/s")
    yield form.format(*heads, "p50 ms", "p95 ms", "load s", "peak MiB")
    for cell in results["cells"]:
        speed, latency = cell["tokens_per_second"], cell["latency_ms"]
        row = [cell["precision"], cell["beam_size"], cell["batch"] or "own"]
        row += [f"{speed['median']:,.0f}", f"{speed['min']:,.0f}-{speed['max']:,.0f}"]
        row += [f"{cell['sentences_per_second']:.1f}"]
        row += [f"{value:.1f}" for value in latency.values()] if latency else ["", ""]
        yield form.format(*row, f"{cell['load_seconds']:.2f}", f"{cell['peak_mib']:.0f}")
