"""A search graph that takes and returns text, with SentencePiece inside.

Its operators of the domain ``ai.onnx.contrib`` come with the package onnxruntime-extensions.

Shapes: B lines, N translations of each, L tokens of the longest line, T of the longest translation.
"""

import logging
from collections.abc import Collection
from typing import Any

import numpy as np
import onnx_ir as ir

from nmt_cli.export.onnx.ops import Ops, State, finish, output
from nmt_cli.text.tokenizer import PAD_ID

DOMAIN = "ai.onnx.contrib"


def text_graph(model: ir.Model, source: bytes, target: bytes, silent: Collection[int]) -> ir.Model:
    """Give a search ``text``, string [B], instead of ``source``, and ``translation``,
    string [B, N], instead of ``ids``.

    A line without tokens is its own translation, N times, with a score of 0.

    Args:
        model: see nmt_cli.export.onnx.search.search_graph; becomes the result.
        source: SentencePiece model.
        target: likewise.
        silent: target ids without text.
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
    """Ids of lines with the end token, int32 [B, L], and their lengths [B]."""
    sampling, ends = (np.array([0]), np.array([0], np.float32)), np.array([False, True, False])
    ids, starts, _ = op.SentencepieceTokenizer(
        text, *sampling, *np.split(ends, 3), model=_bytes(source), domain=DOMAIN, outputs=3
    )
    first = op.Slice(starts, [0], [-1])
    lengths = op.Sub(op.Slice(starts, [1], [np.iinfo(np.int64).max]), first)
    columns = op.count(op.ReduceMax(lengths))
    places = op.Min(op.Add(op.Unsqueeze(first, [1]), columns), op.Sub(op.Size(ids), 1))
    is_token = op.Less(columns, op.Unsqueeze(lengths, [1]))
    return op.Where(is_token, op.Gather(ids, places), np.int32(PAD_ID)), lengths


def _detokenized(op: Ops, text: Any, ids: Any, target: bytes, silent: Collection[int]) -> Any:
    """The texts of ids [B, N, T], in one axis; the operator takes one row at a time."""
    rows = op.Reshape(ids, op.Concat([-1], op.size(ids, 2), axis=0))

    def add(op: Ops, state: State) -> tuple[Any, State]:
        row = op.Gather(rows, state["number"], axis=0)
        is_silent = op.Equal(op.Unsqueeze(row, [1]), np.array([*silent], np.int32))
        is_silent = op.ReduceMax(op.Cast(is_silent, to=ir.DataType.INT32), [1], keepdims=0)
        row = op.Cast(op.Compress(row, op.Equal(is_silent, np.int32(0))), to=ir.DataType.INT64)
        found = op.SentencepieceDecoder(row, model=_bytes(target), domain=DOMAIN)
        number = op.Add(state["number"], 1)
        more = op.Less(number, op.Squeeze(op.size(rows, 0)))
        return more, {"number": number, "texts": op.Concat(state["texts"], found, axis=0)}

    return op.loop({"number": 0, "texts": op.Slice(text, [0], [0])}, add)["texts"]


def _bytes(model: bytes) -> Any:
    """An attribute of bytes, which ONNX keeps in a string."""
    return ir.Attr("model", ir.AttributeType.STRING, model)
