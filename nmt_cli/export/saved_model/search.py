"""The beam search of nmt_cli/search/beam.py as TensorFlow operations.

A tf.while_loop over the same step function with the same semantics. Comments name shapes:
B segments, K beams, t steps.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf

from nmt_cli.model.step_graph import StepGraph
from nmt_cli.recipe.decoding import DecodingConfig
from nmt_cli.text.tokenizer import END_ID, START_ID

_INF = float("inf")


class _Beams(NamedTuple):
    """The loop's variables; see nmt_cli.search.beam.Beams for their meaning.

    Attributes:
        best_score: float64 [B], -inf while nothing is finished.
        best_ids: int32 [B, t], the best hypothesis, padded.
        best_length: int32 [B], its length.
    """

    step: Any
    sums: Any
    last: Any
    history: Any
    ancestry: Any
    finished: Any
    done: Any
    best_score: Any
    best_ids: Any
    best_length: Any
    caches: list[Any]


@dataclass(frozen=True)
class GraphSearch:
    """Beam search inside a graph, in which its settings are fixed."""

    graph: StepGraph
    decoding: DecodingConfig

    def search(self, source: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Best hypothesis of each segment: ids ragged [B, (ids)] and score float64 [B]."""
        decoding, caches = self.decoding, self.graph.caches.values()
        beams, count = decoding.beam_size, tf.shape(source)[0]
        reach = tf.math.ceil(decoding.length_ratio * tf.cast(lengths, tf.float64))
        limits = tf.minimum(decoding.max_length, tf.cast(reach, tf.int32) + decoding.length_extra)
        encoder_output = self.graph.encode(source)
        start = _Beams(
            step=tf.constant(0),
            sums=tf.concat([tf.zeros([count, 1]), tf.fill([count, beams - 1], -_INF)], axis=1),
            last=tf.fill([count, beams], START_ID),
            history=tf.zeros([count, beams, 0], tf.int32),
            ancestry=tf.zeros([count, beams, 0], tf.bool),
            finished=tf.zeros([count], tf.int32),
            done=tf.zeros([count], tf.bool),
            best_score=tf.fill([count], tf.constant(-_INF, tf.float64)),
            best_ids=tf.zeros([count, 0], tf.int32),
            best_length=tf.zeros([count], tf.int32),
            caches=[tf.zeros([count, heads, 0, size]) for _, heads, _, size in caches],
        )
        shapes = tf.nest.map_structure(  # of any step: axes that are 0 so far grow
            lambda each: tf.TensorShape([size or None for size in each.shape]), start
        )
        final = tf.while_loop(
            lambda *state: ~tf.reduce_all(_Beams(*state).done),
            lambda *state: self._advance(_Beams(*state), encoder_output, limits),
            start,
            shape_invariants=shapes,
        )
        ids = tf.RaggedTensor.from_tensor(final.best_ids, lengths=final.best_length)
        return ids, final.best_score

    def _advance(self, beams: _Beams, encoder_output: list[Any], limits: tf.Tensor) -> _Beams:
        """One step: rank candidates, fill free slots, keep the best finished, close sentences."""
        width = self.decoding.beam_size
        own = tf.broadcast_to(tf.eye(width, dtype=tf.bool), [tf.shape(beams.sums)[0], width, width])
        ancestry = tf.concat([beams.ancestry, own], axis=2)
        scores, ids, _, caches = self.graph.step(
            beams.last, beams.step[None], ancestry, encoder_output, beams.caches
        )
        step = beams.step + 1
        parents, tokens, sums = _rank(beams.sums, scores, ids)
        taken = tf.range(width)[None, :] >= (width - beams.finished)[:, None]
        sums = tf.where(taken, -_INF, sums)
        past = tf.gather(beams.history, parents, batch_dims=1)  # [B, K, t]
        history = tf.concat([past, tokens[..., None]], axis=2)

        ends = (tokens == END_ID) & (sums > -_INF) & ~beams.done[:, None]
        scored = tf.cast(tf.where(ends, sums, -_INF), tf.float64) / self._penalty(step)
        slot = tf.argmax(scored, axis=1, output_type=tf.int32)
        better = tf.reduce_max(scored, axis=1) > beams.best_score
        best_score = tf.where(better, tf.reduce_max(scored, axis=1), beams.best_score)
        best_length = tf.where(better, step - 1, beams.best_length)
        ended = tf.gather(past, slot, batch_dims=1)  # [B, t]
        best_ids = tf.pad(tf.where(better[:, None], ended, beams.best_ids), [[0, 0], [0, 1]])

        # At its limit, a sentence without a finished hypothesis takes its best open beam.
        sums = tf.where(ends, -_INF, sums)
        at_limit, open_score = step >= limits, tf.cast(tf.reduce_max(sums, axis=1), tf.float64)
        cut = ~beams.done & tf.math.is_inf(best_score) & at_limit
        best_score = tf.where(cut, open_score / self._penalty(step), best_score)
        best_length = tf.where(cut, step, best_length)
        slot = tf.argmax(sums, axis=1, output_type=tf.int32)
        best_ids = tf.where(cut[:, None], tf.gather(history, slot, batch_dims=1), best_ids)
        done = beams.done | at_limit | (open_score / self._penalty(limits) <= best_score)
        return _Beams(
            step=step,
            sums=tf.where(done[:, None], -_INF, sums),
            last=tokens,
            history=history,
            ancestry=tf.gather(ancestry, parents, batch_dims=1),
            finished=beams.finished + tf.reduce_sum(tf.cast(ends, tf.int32), axis=1),
            done=done,
            best_score=best_score,
            best_ids=best_ids,
            best_length=best_length,
            caches=caches,
        )

    def _penalty(self, length: tf.Tensor) -> tf.Tensor:
        """Like nmt_cli.search.hypotheses.penalty, in float64."""
        return ((5.0 + tf.cast(length, tf.float64)) / 6.0) ** self.decoding.length_penalty


def _rank(
    sums: tf.Tensor, scores: tf.Tensor, ids: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The K best continuations of each sentence: parent beam, token, sum; each [B, K]."""
    count, beams = tf.shape(ids)[0], sums.shape[1]
    candidates = tf.shape(ids)[2]
    totals = tf.reshape(sums[..., None] + scores, [count, beams * candidates])
    flat = tf.reshape(ids, [count, beams * candidates])
    # Sorted by token, then stably by total: equal totals are ordered by token, lower first.
    by_token = tf.argsort(flat, axis=1, stable=True)
    by_total = tf.argsort(
        tf.gather(totals, by_token, batch_dims=1), axis=1, direction="DESCENDING", stable=True
    )
    order = tf.gather(by_token, by_total[:, :beams], batch_dims=1)
    return (
        order // candidates,
        tf.gather(flat, order, batch_dims=1),
        tf.gather(totals, order, batch_dims=1),
    )
