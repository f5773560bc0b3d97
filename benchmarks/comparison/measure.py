"""Measure cell by cell, the sides in turns."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from comparison.ceiling import PRODUCT
from comparison.cells import measure_cell, spread
from comparison.models import Models
from comparison.plan import OWN, SIDES, Cell, Plan, Text, Threads
from comparison.process import Started, Workers, in_turns
from comparison.sides import Job
from comparison.whole import whole_process
from machine import compile_nmt, machine, versions

from nmt_cli.host import cores

FORMAT = 1

Tree = dict[str, Any]


def measure(models: Models, text: Text, plan: Plan, say: Callable[[str], None]) -> Tree:
    """Measure all combinations of the plan.

    Args:
        models: to compare.
        text: to translate.
        plan: beam sizes, batches, repeats and threads.
        say: receives a line before each measurement.

    Returns:
        The results, ready for JSON; comparison/table.py formats them.

    Raises:
        NmtError: a side cannot load its model, or its process was killed.
    """
    compile_nmt()
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
                    cells.append(measure_cell(cell, models, text, plan, workers))
                memory += _memory(precision, group, workers.started)
        say(f"{precision}, loading")
        loading.append(_loading(precision, jobs, plan))
        for row in cells if _is_whole(plan) else []:
            if (row["precision"], row["batch"]) == (precision, OWN):
                say(f"{precision}, beam {row['beam_size']}, whole processes")
                whole += whole_process(folders, row, text, plan)
    return {
        "format": FORMAT,
        "model": models.name,
        "machine": machine(),
        "versions": versions("onnxruntime", "ctranslate2", "numpy"),
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
    """Whether the plan's settings exist as options of ``nmt translate``."""
    return OWN in plan.batches and not plan.forced_length and plan.threads == cores()


def _notes(text: Text, plan: Plan) -> list[str]:
    notes = [
        "length penalty 0 on both sides: CTranslate2 uses a different formula",
        f"all translations have the same limit, {text.limit} tokens",
    ]
    if text.left_out:
        notes.append(
            f"{text.left_out} lines left out: blank, or longer than the model reads at a time"
        )
    if 1 in plan.batches and len(text.lines) * plan.repeats < 50:
        notes.append("p50 and p95 are of fewer than 50 sentences")
    if not importlib.util.find_spec("onnx"):
        notes.append("no share of the matrix product's rate: it needs pip install onnx")
    if OWN in plan.batches and not _is_whole(plan):
        notes.append("no whole processes: nmt translate uses all cores and forces no length")
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
            width=models.config.d_model,
        )
        for side, folder in sides.items()
    }


def _memory(precision: str, group: Sequence[Cell], started: Sequence[Started]) -> list[Tree]:
    """Memory of the sides' processes, after each ran all cells of its group at least once."""
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


def _loading(precision: str, jobs: Mapping[str, Job], plan: Plan) -> Tree:
    """Load times of fresh processes, with all threads inside the operators."""

    def load(side: str) -> dict[str, float]:
        with Workers(jobs) as workers:
            return workers.worker(side, Threads(1, plan.threads)).loaded

    answers = in_turns({side: partial(load, side) for side in SIDES}, plan.repeats)
    tree: Tree = {
        "precision": precision,
        "sides": {
            side: {
                kind: spread([each[kind] for each in answers[side]])
                for kind in ("load_seconds", "start_seconds", "memory")
            }
            for side in SIDES
        },
    }
    return tree
