"""Write beam search as an ONNX graph, around the finished encoder and step of a bundle.

It is the search of `nmt_cli/search/beam.py` in standard operators, with the same sums in the same
order: translations are the same to the last bit. The decoder's step is the body of a ``Loop``.
Another one around it does what `nmt_cli/runtime/state.py` does from time to time: it reserves
columns of the caches for the next steps, and drops sentences that are done.

A graph of text has SentencePiece inside: operators of the package onnxruntime-extensions.

Shapes: B sentences, S source positions, K beams, N hypotheses returned, C candidates a beam,
R columns reserved, T steps, t steps so far, h heads.
"""

import logging
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray
from onnx_ir.passes.common import RemoveUnusedNodesPass

from nmt_cli.errors import OutputError
from nmt_cli.export.onnx.library import Ops, State, finish, output, share_with_body
from nmt_cli.recipe.model import DecodingConfig, Shape
from nmt_cli.runtime.state import SHARE_AHEAD, STEPS_AHEAD, VECTOR
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.segments import WIDTH_STEP
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID

# The format allows 2 GiB for a file; the rest is for the graph.
MAX_WEIGHTS = 2_000_000_000
# Operators of onnxruntime-extensions.
DOMAIN = "ai.onnx.contrib"
# The options of a search that are whole numbers.
COUNTS = ("beam_size", "n_best", "max_length", "min_length", "no_repeat_ngram")
# Scores of an empty slot and of a missing hypothesis.
NO_SUM, NO_SCORE = -np.float32("inf"), -np.float64("inf")

Values = tuple[Any, Any]


def search_graph(
    encoder: ir.Model, decoder: ir.Model, caches: Mapping[str, Shape], decoding: DecodingConfig
) -> ir.Model:
    """Turn a bundle's encoder and step into the graph of a whole translator of token ids.

    Its inputs are ``source`` int32 [B, S], with END and padded with PAD_ID; ``beam_size``,
    ``n_best``, ``max_length``, ``min_length`` and ``no_repeat_ngram`` int64 [1];
    ``length_penalty`` float64 [1].
    Its outputs are ``ids`` int32 [B, N, T], the best translations without END_ID, best first,
    padded with PAD_ID, and ``scores`` float32 [B, N], -inf where a sentence has fewer translations.

    Both graphs, the decoder's without shortlists, become the result. Of ``decoding``, it has the
    limits of the length that are not inputs.

    Raises:
        OutputError: the weights do not fit into one file.
    """
    share_with_body(encoder.graph, decoder.graph)
    graphs = encoder.graph, decoder.graph
    weights = [value.const_value for graph in graphs for value in graph.initializers.values()]
    size = sum(tensor.nbytes for tensor in weights)
    if size > MAX_WEIGHTS:
        raise OutputError(
            f"the weights take {size / 1e9:.1f} GB, and an ONNX file holds 2",
            "use `quantize=int8`, or export a bundle",
        )
    _Search(encoder.graph, decoder.graph, caches, decoding).build()
    RemoveUnusedNodesPass()(encoder)
    return finish(encoder)


class _Search:
    """The search around two graphs, with the names of `nmt_cli.search.beam.Beams`.

    Methods take an `Ops` of the graph that they add to.
    """

    def __init__(
        self, encoder: Any, decoder: Any, caches: Mapping[str, Shape], decoding: DecodingConfig
    ) -> None:
        self._graph, self._decoder, self._caches = encoder, decoder, caches
        self._decoding = decoding
        # Not S, which is the padded width in the encoder.
        self._source = ir.val("source", ir.DataType.INT32, ["B", "L"])
        self._alpha = ir.val("length_penalty", ir.DataType.DOUBLE, [1])
        counts = [ir.val(name, ir.DataType.INT64, [1]) for name in COUNTS]
        self._beams, self._n_best, self._max_length, self._min_length, self._no_repeat = counts
        self._encoder_output = {value.name: value for value in encoder.outputs}

    def build(self) -> None:
        """Turn the encoder's graph into the whole search."""
        op, (source,) = Ops(self._graph), self._graph.inputs
        missing = op.Mod(op.Sub(0, op.size(self._source, 1)), WIDTH_STEP)
        source.replace_all_uses_with(op.widen(self._source, missing, 1, 2))
        end = op.loop(self._start(op), self._some_steps)
        is_end = op.Equal(end["result_ids"], np.int32(END_ID))
        ids = op.Where(is_end, np.int32(PAD_ID), end["result_ids"])
        scores = op.Cast(end["result_scores"], to=ir.DataType.FLOAT)
        lengths = self._alpha, self._max_length, self._min_length
        options = self._beams, self._n_best, *lengths, self._no_repeat
        self._graph.inputs[:] = [self._source, *options]
        self._graph.outputs[:] = [
            output(ids, "ids", ir.DataType.INT32, ["B", "N", "T"]),
            output(scores, "scores", ir.DataType.FLOAT, ["B", "N"]),
        ]

    def _start(self, op: Ops) -> State:
        """Return the state before the first step."""
        count, beams, decoding = op.size(self._source, 0), self._beams, self._decoding
        is_token = op.Cast(op.Not(op.Equal(self._source, np.int32(PAD_ID))), to=ir.DataType.INT64)
        lengths = op.Cast(op.ReduceSum(is_token, [1], keepdims=0), to=ir.DataType.DOUBLE)
        ratio = op.Cast(op.Ceil(op.Mul(lengths, decoding.length_ratio)), to=ir.DataType.INT64)
        limits = op.Min(op.Add(ratio, decoding.length_extra), self._max_length)
        first = op.Where(op.Equal(op.count(beams), 0), np.float32(0), NO_SUM)
        zero = next(iter(self._encoder_output.values())).dtype.numpy().type(0)
        no_scores, _ = op.TopK(op.full(NO_SCORE, count, beams), self._n_best, outputs=2)
        # ONNX Runtime's error names the operator that fails.
        no_scores.producer().name = "n_best needs a beam of that size"
        no_ids = op.full(np.int32(PAD_ID), count, self._n_best, 0)
        return {
            "step": 0,
            "rows": op.count(count),
            "limits": limits,
            "max_penalty": penalty(op, limits, self._alpha),
            "sums": op.Expand(first, op.vector(count, beams)),
            "last": op.full(np.int32(START_ID), count, beams),
            "history": op.full(np.int32(PAD_ID), count, beams, 0),
            "history_mask": op.full(False, count, beams, 0),
            "finished": op.full(0, count),
            "done": op.full(False, count),
            "best_scores": no_scores,
            "best_ids": no_ids,
            **self._encoder_output,
            **{
                name: op.full(zero, count, heads, 0, size)
                for name, (_, heads, _, size) in self._caches.items()
            },
            "result_scores": no_scores,
            "result_ids": no_ids,
        }

    def _some_steps(self, op: Ops, state: State) -> tuple[Any, State]:
        """Drop sentences that are done, reserve columns, and run steps while these are enough."""
        step, scores, ids = (state[name] for name in ("step", "result_scores", "result_ids"))
        keep = op.Squeeze(op.NonZero(op.Not(state["done"])), [0])
        whole = ("step", "result_scores", "result_ids")
        kept = {
            name: op.Gather(value, keep, axis=0)
            for name, value in state.items()
            if name not in whole
        }
        ahead = op.Max(STEPS_AHEAD, op.Div(step, round(1 / SHARE_AHEAD)))
        needed = op.Mul(op.Add(step, ahead), self._beams)
        reserved = op.Mul(op.Div(op.Add(needed, VECTOR - 1), VECTOR), VECTOR)
        new = op.Sub(reserved, op.size(kept["history_mask"], 2))
        kept["history_mask"] = op.widen(kept["history_mask"], new, 2, 3)
        kept |= {name: op.widen(kept[name], new, 2, 4) for name in self._caches}
        names = ("rows", "limits", "max_penalty", *self._encoder_output)
        fixed = {name: kept.pop(name) for name in names}
        columns = self._first_columns(op, op.size(keep, 0))

        def advance(op: Ops, state: State) -> tuple[Any, State]:
            state = self._advance(op, {**state, **fixed}, reserved, columns)
            needed = op.Mul(op.Add(state["step"], 1), self._beams)
            enough = op.Squeeze(op.LessOrEqual(needed, reserved))
            return op.And(enough, _any_open(op, state)), state

        after = op.loop({"step": step, **kept}, advance, self._decoder)
        rows = op.Unsqueeze(fixed["rows"], [1])
        ids = op.widen(ids, op.Sub(after["step"], step), 2, 3)
        return _any_open(op, after), {
            **after,
            **fixed,
            "result_scores": op.ScatterND(scores, rows, after["best_scores"]),
            "result_ids": op.ScatterND(ids, rows, after["best_ids"]),
        }

    def _first_columns(self, op: Ops, count: Any) -> dict[Any, Any]:
        """Return, by number of heads, indices [B, h, K, 3] of the first K columns of caches."""
        columns = {}
        for heads in {shape[1] for shape in self._caches.values()}:
            shape = op.vector(count, heads, self._beams)
            indices = op.Transpose(op.NonZero(op.Expand(True, shape)), perm=[1, 0])
            columns[heads] = op.Reshape(indices, op.Concat(shape, [3], axis=0))
        return columns

    def _advance(self, op: Ops, state: State, reserved: Any, columns: Mapping[Any, Any]) -> State:
        """Take one step: rank candidates, fill free slots, keep the best finished hypotheses, and
        close sentences."""
        ancestry = self._ancestry(op, state, reserved)
        scores, ids, caches = self._step(op, {**state, "ancestry": ancestry}, columns)
        step = op.Add(state["step"], 1)
        parents, last, sums = best_continuations(op, self._beams, state["sums"], scores, ids)
        free = op.Unsqueeze(op.Sub(self._beams, state["finished"]), [1])
        sums = op.Where(op.Less(op.count(self._beams), free), sums, NO_SUM)
        past = of_beams(op, state["history"], parents)  # [B, K, t]
        history = op.Concat(past, op.Unsqueeze(last, [2]), axis=2)

        ends = op.And(op.Equal(last, np.int32(END_ID)), op.Greater(sums, NO_SUM))
        ended = op.ReduceSum(op.Cast(ends, to=ir.DataType.INT64), [1], keepdims=0)
        best, settled = self._keep(op, {**state, "step": step, "history": history}, sums, ends)
        done = op.Or(state["done"], settled)
        return {
            "step": step,
            "sums": op.Where(op.Or(ends, op.Unsqueeze(done, [1])), NO_SUM, sums),
            "last": last,
            "history": history,
            "history_mask": of_beams(op, ancestry, parents),
            "finished": op.Add(state["finished"], ended),
            "done": done,
            **best,
            **caches,
        }

    def _keep(self, op: Ops, state: State, sums: Any, ends: Any) -> tuple[State, Any]:
        """Keep the best hypotheses, given the sums of beams after a step and which ended, [B, K];
        also return which sentences are done, [B]. These take their best open beams, too."""
        length, history = penalty(op, state["step"], self._alpha), state["history"]
        scores = op.Div(op.Cast(sums, to=ir.DataType.DOUBLE), length)
        best = state["best_scores"], op.widen(state["best_ids"], 1, 2, 3)
        finished = op.Where(ends, scores, NO_SCORE), history
        best = best_hypotheses(op, self._n_best, best, finished, op.Unsqueeze(state["done"], [1]))
        largest = op.ReduceMax(op.Where(ends, NO_SUM, sums), [1], keepdims=0)
        bound = op.Div(op.Cast(largest, to=ir.DataType.DOUBLE), state["max_penalty"])
        done = op.LessOrEqual(bound, op.Gather(best[0], -1, axis=1))
        done = op.Or(done, op.GreaterOrEqual(state["step"], state["limits"]))
        closed = op.Unsqueeze(done, [1])
        opened = op.Where(op.Or(ends, op.Not(closed)), NO_SCORE, scores), history
        best = best_hypotheses(op, self._n_best, best, opened, closed)
        return dict(zip(("best_scores", "best_ids"), best, strict=True)), done

    def _ancestry(self, op: Ops, state: State, reserved: Any) -> Any:
        """Return the columns of each beam's past and of its last token, [B, K, R]."""
        used = op.Mul(state["step"], self._beams)
        last = op.Unsqueeze(op.Add(used, op.count(self._beams)), [1])  # [K, 1]
        return op.Or(state["history_mask"], op.Equal(op.count(reserved), last))

    def _step(
        self, op: Ops, state: State, columns: Mapping[Any, Any]
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Connect the decoder's step; returns scores and ids [B, K, C], and the caches."""
        step, names = state["step"], [value.name for value in self._decoder.outputs]
        used = op.vector(0, 0, op.Mul(step, self._beams))
        columns = {heads: op.Add(first, used) for heads, first in columns.items()}
        for node in list(self._decoder):
            # In a loop, TensorScatter would copy the cache, too, with a warning at each step.
            if node.op_type == "TensorScatter":
                cache, new, _ = node.inputs
                grown = op.ScatterND(cache, columns[self._caches[cache.name][1]], new)
                node.outputs[0].replace_all_uses_with(grown, replace_graph_outputs=True)
        outputs = dict(zip(names, self._decoder.outputs, strict=True))
        position = op.Cast(op.Reshape(step, [1]), to=ir.DataType.INT32)
        inputs = {**state, "tokens": state["last"], "position": position}
        for value in self._decoder.inputs:
            if value.name in inputs:
                value.replace_all_uses_with(inputs[value.name])
        (softmax,) = (node for node in self._decoder if node.op_type == "LogSoftmax")
        (log_probs,) = softmax.outputs  # not the output of that name: in float16, it is a cast
        readers = list(log_probs.uses())
        allowed = forbid(op, self._no_repeat, self._min_length, log_probs, state["history"])
        for node, index in readers:
            node.replace_input_with(index, allowed)
        caches = {name: outputs[f"new_{name}"] for name in self._caches}
        return outputs["scores"], outputs["ids"], caches


def _any_open(op: Ops, state: State) -> Any:
    is_open = op.Cast(op.Not(state["done"]), to=ir.DataType.INT32)
    return op.Cast(op.ReduceMax(is_open, keepdims=0), to=ir.DataType.BOOL)


def forbid(op: Ops, size: Any, min_length: Any, log_probs: Any, past: Any) -> Any:
    """Return log-probabilities [B, K, V], -inf for a token that must not follow the past [B, K, t]:
    one that repeats a sequence of ``size`` tokens (0 for no limit), and END before ``min_length``.
    """
    length, back = op.size(past, 2), op.Range(1, op.Squeeze(size), 1)
    positions, padded = op.count(length), op.widen(past, 1, 2, 3)  # Gather refuses an empty axis
    # The size - 1 tokens before each token, and before the next one.
    before = op.Gather(padded, op.Max(op.Sub(op.Unsqueeze(positions, [1]), back), 0), axis=2)
    last = op.Gather(padded, op.Max(op.Sub(length, back), 0), axis=2)
    differs = op.Cast(op.Not(op.Equal(before, op.Unsqueeze(last, [2]))), to=ir.DataType.INT32)
    repeats = op.Equal(op.ReduceSum(differs, [3], keepdims=0), np.int32(0))
    is_ngram = op.And(op.Greater(size, 0), op.Less(op.Sub(size, 2), positions))
    limits = op.Where(op.And(repeats, is_ngram), NO_SUM, -NO_SUM)
    shape = op.Concat(op.size(past, 0), op.size(past, 1), [1], axis=0)
    end = op.Expand(np.int32(END_ID), shape)
    end_limit = op.Expand(op.Where(op.Less(length, min_length), NO_SUM, -NO_SUM), shape)
    tokens, limits = op.Concat(past, end, axis=2), op.Concat(limits, end_limit, axis=2)
    return op.ScatterElements(log_probs, tokens, limits, axis=2, reduction="min")


def best_continuations(op: Ops, beams: Any, sums: Any, scores: Any, ids: Any) -> tuple[Any, ...]:
    """Return parents, tokens and sums [B, K] of the K best of candidates [B, K, C]."""
    totals = op.Reshape(op.Add(op.Unsqueeze(sums, [2]), scores), [0, -1])  # [B, K * C]
    # TopK keeps the order of equal values: equal totals are ordered by token, then by beam.
    ids, by_token = op.TopK(op.Reshape(ids, [0, -1]), op.size(totals, 1), largest=0, outputs=2)
    totals = op.GatherElements(totals, by_token, axis=1)
    sums, order = op.TopK(totals, beams, outputs=2)
    parents = op.Div(op.GatherElements(by_token, order, axis=1), op.size(scores, 2))
    return parents, op.GatherElements(ids, order, axis=1), sums


def best_hypotheses(op: Ops, count: Any, kept: Values, more: Values, closed: Any) -> Values:
    """Return the N best of two sets of hypotheses, each with scores [B, N] and ids [B, N, t].

    Where ``closed``, [B, 1], the ``kept`` ones come first, in their order.
    """
    first = op.Where(op.Greater(kept[0], NO_SCORE), -NO_SCORE, NO_SCORE)
    rank = op.Concat(op.Where(closed, first, kept[0]), more[0], axis=1)
    _, order = op.TopK(rank, count, outputs=2)
    scores, ids = (op.Concat(*both, axis=1) for both in zip(kept, more, strict=True))
    return op.GatherElements(scores, order, axis=1), of_beams(op, ids, order)


def penalty(op: Ops, lengths: Any, alpha: Any) -> Any:
    """Return the length penalty of nmt_cli.search."""
    lengths = op.Cast(lengths, to=ir.DataType.DOUBLE)
    return op.Pow(op.Div(op.Add(lengths, 5.0), 6.0), alpha)


def of_beams(op: Ops, values: Any, beams: Any) -> Any:
    """Select the values [B, K, ...] of some beams [B, K] of each sentence."""
    return op.GatherND(values, op.Unsqueeze(beams, [-1]), batch_dims=1)


def search_inputs(options: SearchOptions) -> dict[str, NDArray[Any]]:
    """Return the inputs of a search but its source."""
    inputs = {name: np.array([getattr(options, name) or 0]) for name in COUNTS}
    return {**inputs, "length_penalty": np.array([options.length_penalty], np.float64)}


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
    """Return the ids of lines with the end token, int32 [B, S], and their lengths [B]."""
    sampling, ends = (np.array([0]), np.array([0], np.float32)), np.array([False, True, False])
    model = ir.AttrString("model", source)  # ONNX keeps bytes in a string
    ids, starts, _ = op.SentencepieceTokenizer(
        text, *sampling, *np.split(ends, 3), model=model, domain=DOMAIN, outputs=3
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
    model = ir.AttrString("model", target)

    def add(op: Ops, state: State) -> tuple[Any, State]:
        row = op.Gather(rows, state["number"], axis=0)
        is_silent = op.Equal(op.Unsqueeze(row, [1]), np.array([*silent], np.int32))
        is_silent = op.ReduceMax(op.Cast(is_silent, to=ir.DataType.INT32), [1], keepdims=0)
        row = op.Cast(op.Compress(row, op.Equal(is_silent, np.int32(0))), to=ir.DataType.INT64)
        line = op.SentencepieceDecoder(row, model=model, domain=DOMAIN)
        number = op.Add(state["number"], 1)
        more = op.Less(number, op.Squeeze(op.size(rows, 0)))
        return more, {"number": number, "texts": op.Concat(state["texts"], line, axis=0)}

    return op.loop({"number": 0, "texts": op.Slice(text, [0], [0])}, add)["texts"]
