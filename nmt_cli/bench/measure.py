"""The measuring: cell by cell, the sides in turns."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from nmt_cli.bench.ceiling import PRODUCT
from nmt_cli.bench.cells import measure_cell, spread
from nmt_cli.bench.machine import machine, versions
from nmt_cli.bench.models import Models
from nmt_cli.bench.plan import OWN, Cell, Plan, Text, Threads
from nmt_cli.bench.process import Started, Workers, in_turns
from nmt_cli.bench.sides import Job
from nmt_cli.bench.whole import whole_process
from nmt_cli.host import cores

FORMAT = 1

Tree = dict[str, Any]


def measure(models: Models, text: Text, plan: Plan, say: Callable[[str], None]) -> Tree:
    """Measure a matrix.

    Args:
        models: what translates.
        text: what is translated.
        plan: the matrix.
        say: receives lines for people, as work goes on.

    Returns:
        Everything that was found, ready for JSON; bench/table.py shows it.

    Raises:
        NmtError: a side cannot load, or ended.
    """
    notes = _notes(text, plan)
    cells: list[Tree] = []
    memory: list[Tree] = []
    loading: list[Tree] = []
    whole: list[Tree] = []
    for precision, folders in models.folders.items():
        jobs = _jobs(models, text, plan, precision)
        for group in plan.groups(precision):
            with Workers(jobs) as workers:
                for cell in group:
                    say(f"{precision}, beam {cell.beam_size}, batch {cell.batch or 'own'}")
                    cells.append(measure_cell(cell, list(folders), models, text, plan, workers))
                memory += _memory(precision, group, workers.started)
        say(f"{precision}, loading")
        loading.append(_loading(precision, list(folders), jobs, plan))
        for row in cells if _is_whole(plan) else []:
            if (row["precision"], row["batch"]) == (precision, OWN):
                say(f"{precision}, beam {row['beam_size']}, whole processes")
                whole += whole_process(folders, row, text, plan)
    return {
        "format": FORMAT,
        "model": models.name,
        "machine": machine(),
        "versions": versions(),
        "settings": {
            "threads": plan.threads,
            "repeats": plan.repeats,
            "forced_length": plan.forced_length,
            "length_penalty": 0,
            "limit": text.limit,
        },
        "text": {
            "lines": len(text.lines),
            "source_tokens": sum(text.source_tokens),
            "left_out": text.left_out,
        },
        "cells": cells,
        "loading": loading,
        "memory": memory,
        "whole_process": whole,
        "notes": notes,
    }


def _is_whole(plan: Plan) -> bool:
    """Whether ``nmt translate`` can do what the plan asks for."""
    return OWN in plan.batches and not plan.forced_length and plan.threads == cores()


def _notes(text: Text, plan: Plan) -> list[str]:
    notes = [
        "length penalty 0 on both sides: CTranslate2's is another formula than nmt's",
        f"one limit for all translations, {text.limit} tokens",
    ]
    if text.left_out:
        notes.append(f"{text.left_out} lines left out: blank, or longer than a model reads")
    if 1 in plan.batches and len(text.lines) * plan.repeats < 50:
        notes.append("p50 and p95 are of fewer than 50 sentences")
    if not importlib.util.find_spec("onnx"):
        notes.append("no share of the matrix product's rate: that needs pip install onnx")
    if OWN in plan.batches and not _is_whole(plan):
        notes.append("no whole processes: nmt translate takes every core, and forces no length")
    return notes


def _jobs(models: Models, text: Text, plan: Plan, precision: str) -> dict[str, Job]:
    sides = {side: str(folder) for side, folder in models.folders[precision].items()}
    if importlib.util.find_spec("onnx"):
        sides[PRODUCT] = ""
    return {
        side: Job(
            side,
            folder,
            workers=1,
            each=1,
            lines=text.lines,
            limit=text.limit,
            forced=bool(plan.forced_length),
            precision=precision,
            width=models.shape.d_model,
        )
        for side, folder in sides.items()
    }


def _memory(precision: str, group: Sequence[Cell], started: Sequence[Started]) -> list[Tree]:
    """Of every process but the product's, after it ran all cells of its group at least once."""
    return [
        {
            "precision": precision,
            "batches": sorted({cell.batch for cell in group}),
            "side": each.side,
            "workers": each.threads.workers,
            "threads_each": each.threads.each,
            "loaded_mib": each.worker.loaded["memory"],
            "peak_mib": each.worker.peak,
        }
        for each in started
        if each.side != PRODUCT
    ]


def _loading(precision: str, sides: Sequence[str], jobs: Mapping[str, Job], plan: Plan) -> Tree:
    """Fresh processes that load and end, with all threads inside the operators."""

    def load(side: str) -> dict[str, float]:
        with Workers(jobs) as workers:
            return workers.worker(side, Threads(1, plan.threads)).loaded

    answers = in_turns({side: partial(load, side) for side in sides}, plan.repeats)
    tree: Tree = {
        "precision": precision,
        "sides": {
            side: {
                kind: spread([each[kind] for each in answers[side]])
                for kind in ("load_seconds", "start_seconds", "memory")
            }
            for side in sides
        },
    }
    return tree
