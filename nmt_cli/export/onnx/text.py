"""Write search graphs that take and return text, with SentencePiece inside, and run them.

Its operators of the domain ``ai.onnx.contrib`` come with the package onnxruntime-extensions.

Shapes: B lines, N translations of each, L tokens of the longest line, T of the longest translation.
"""

import json
import logging
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from nmt_cli.errors import ResourceError
from nmt_cli.export.onnx.ops import Ops, State, finish, output
from nmt_cli.export.onnx.search import search_inputs
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.segments import NO_REPEAT, repeats, search_again
from nmt_cli.search.translator import Translation
from nmt_cli.text.tokenizer import PAD_ID

DOMAIN = "ai.onnx.contrib"


def text_graph(model: ir.Model, source: bytes, target: bytes, silent: Collection[int]) -> ir.Model:
    """Give a search ``text``, string [B], instead of ``source``, and ``translation``,
    string [B, N], instead of ``ids``.

    A line without tokens is its own translation, N times, with a score of 0.

    Source and target are SentencePiece models; ``silent`` target ids have no text.
    """
    graph, op, text = model.graph, Ops(model.graph), ir.val("text", ir.DataType.STRING, ["B"])
    (ids_in, *settings), (ids, scores) = list(graph.inputs), list(graph.outputs)
    tokens, lengths = _tokenized(op, text, source)
    ids_in.replace_all_uses_with(tokens)
    is_blank = op.Unsqueeze(op.Equal(lengths, 1), [1])  # only the end token
    texts = _detokenized(op, text, ids, target, silent)
    texts = op.Where(is_blank, op.Unsqueeze(text, [1]), op.Reshape(texts, op.Shape(scores)))
    scores.name, all_scores = "all_scores", op.Where(is_blank, np.float32(0), scores)
    graph.inputs[:] = [text, *settings]
    graph.outputs[:] = [
        output(texts, "translation", text.dtype, ["B", "N"]),
        output(all_scores, "scores", scores.dtype, ["B", "N"]),
    ]
    graph.opset_imports[DOMAIN] = 1
    # It warns of bytes in attributes, where these operators expect their models.
    logging.getLogger("onnx_ir").setLevel(logging.ERROR)
    return finish(model)


def _tokenized(op: Ops, text: Any, source: bytes) -> tuple[Any, Any]:
    """Return the ids of lines with the end token, int32 [B, L], and their lengths [B]."""
    sampling, ends = (np.array([0]), np.array([0], np.float32)), np.array([False, True, False])
    ids, starts, _ = op.SentencepieceTokenizer(
        text, *sampling, *np.split(ends, 3), model=_bytes(source), domain=DOMAIN, outputs=3
    )
    first = op.Slice(starts, [0], [-1])
    lengths = op.Sub(op.Slice(starts, [1], [np.iinfo(np.int64).max]), first)
    columns = op.count(op.ReduceMax(lengths))
    indices = op.Min(op.Add(op.Unsqueeze(first, [1]), columns), op.Sub(op.Size(ids), 1))
    is_token = op.Less(columns, op.Unsqueeze(lengths, [1]))
    return op.Where(is_token, op.Gather(ids, indices), np.int32(PAD_ID)), lengths


def _detokenized(op: Ops, text: Any, ids: Any, target: bytes, silent: Collection[int]) -> Any:
    """Return the texts of ids [B, N, T], in one axis; the operator takes one row at a time."""
    rows = op.Reshape(ids, op.Concat([-1], op.size(ids, 2), axis=0))

    def add(op: Ops, state: State) -> tuple[Any, State]:
        row = op.Gather(rows, state["number"], axis=0)
        is_silent = op.Equal(op.Unsqueeze(row, [1]), np.array([*silent], np.int32))
        is_silent = op.ReduceMax(op.Cast(is_silent, to=ir.DataType.INT32), [1], keepdims=0)
        row = op.Cast(op.Compress(row, op.Equal(is_silent, np.int32(0))), to=ir.DataType.INT64)
        line = op.SentencepieceDecoder(row, model=_bytes(target), domain=DOMAIN)
        number = op.Add(state["number"], 1)
        more = op.Less(number, op.Squeeze(op.size(rows, 0)))
        return more, {"number": number, "texts": op.Concat(state["texts"], line, axis=0)}

    return op.loop({"number": 0, "texts": op.Slice(text, [0], [0])}, add)["texts"]


def _bytes(model: bytes) -> Any:
    return ir.Attr("model", ir.AttributeType.STRING, model)  # ONNX keeps bytes in a string


def search_text(file: Path, lines: Sequence[str], options: SearchOptions) -> list[Translation]:
    """Translate lines with a file of text."""

    def search(rows: Sequence[int], options: SearchOptions) -> list[Translation]:
        return _search_text(file, [lines[row] for row in rows], options)

    results = search(range(len(lines)), options)
    if options.no_repeat_ngram is None:
        not_empty = [replace(options, min_length=1)]
        search_again(results, lambda _, result: not result.text, not_empty, search)
        stricter = [replace(options, no_repeat_ngram=size) for size in NO_REPEAT]
        search_again(
            results, lambda row, result: repeats(result.text, lines[row]), stricter, search
        )
    return results


def _search_text(file: Path, lines: Sequence[str], options: SearchOptions) -> list[Translation]:
    settings = {name: value.tolist() for name, value in search_inputs(options).items()}
    program = Path(__file__).with_name("text_process.py")
    done = subprocess.run(
        [sys.executable, "-P", program, file],
        input=json.dumps([lines, settings]).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        problem = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ResourceError(
            f"onnxruntime-extensions cannot run the file ({problem})",
            "install the versions in constraints.txt, or export without `with_tokenizer`",
        )
    results = []
    for texts, scores in json.loads(done.stdout):
        pairs = [pair for pair in zip(texts, scores, strict=True) if pair[1] > -np.inf]
        first, *others = (Translation(text, score, ids=[]) for text, score in pairs)
        results.append(replace(first, others=others))
    return results
