"""The beam search of nmt_cli/search/beam.py as TensorFlow operations.

Statement by statement the same, as a tf.while_loop over the same step function; see there
for its semantics. Comments name shapes: B pieces, K beams, t steps.
"""

from dataclasses import dataclass, fields
from typing import Any

import tensorflow as tf

from nmt_cli.model.step_graph import StepGraph
from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.text.tokenizer import END_ID, START_ID

_INF = float("inf")


class GraphSearch:
    """Beam search inside a graph.

    Args:
        graph: the step graphs.
        decoding: settings of the search, fixed in the graph.
    """

    def __init__(self, graph: StepGraph, decoding: DecodingConfig) -> None:
        self._graph = graph
        self._decoding = decoding

    def search(self, source: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Best hypothesis of each piece: ids ragged [B, (ids)] and score float64 [B]."""
        decoding, graph = self._decoding, self._graph
        beams = decoding.beam_size
        count = tf.shape(source)[0]
        reach = tf.math.ceil(decoding.length_ratio * tf.cast(lengths, tf.float64))
        limits = tf.minimum(decoding.max_length, tf.cast(reach, tf.int32) + decoding.length_extra)
        encoded = graph.encode(source)
        first = tf.concat([tf.zeros([count, 1]), tf.fill([count, beams - 1], -_INF)], axis=1)
        start = _Beams(
            step=tf.constant(0),
            sums=first,
            last=tf.fill([count, beams], START_ID),
            history=tf.zeros([count, beams, 0], tf.int32),
            lineage=tf.zeros([count, beams, 0], tf.bool),
            finished=tf.zeros([count], tf.int32),
            done=tf.zeros([count], tf.bool),
            best_score=tf.fill([count], tf.constant(-_INF, tf.float64)),
            best_ids=tf.zeros([count, 0], tf.int32),
            best_length=tf.zeros([count], tf.int32),
            caches=[
                tf.zeros([count, heads, 0, size]) for _, heads, _, size in graph.caches.values()
            ],
        )

        def body(*flat: Any) -> tuple[Any, ...]:
            return self._advance(_Beams.of(flat), encoded, limits).flat()

        end = tf.while_loop(
            lambda *flat: ~tf.reduce_all(_Beams.of(flat).done),
            body,
            start.flat(),
            shape_invariants=start.invariants(),
        )
        final = _Beams.of(end)
        ids = tf.RaggedTensor.from_tensor(final.best_ids, lengths=final.best_length)
        return ids, final.best_score

    def _advance(self, beams: "_Beams", encoded: list[Any], limits: tf.Tensor) -> "_Beams":
        """One step: rank candidates, fill free slots, remember finished, close sentences."""
        width = self._decoding.beam_size
        own = tf.broadcast_to(tf.eye(width, dtype=tf.bool), [tf.shape(beams.sums)[0], width, width])
        lineage = tf.concat([beams.lineage, own], axis=2)
        scores, ids, _, caches = self._graph.step(
            beams.last, beams.step[None], lineage, encoded, beams.caches
        )
        step = beams.step + 1
        parents, tokens, sums = _rank(beams.sums, scores, ids)
        taken = tf.range(width)[None, :] >= (width - beams.finished)[:, None]
        sums = tf.where(taken, -_INF, sums)
        ends = (tokens == END_ID) & (sums > -_INF) & ~beams.done[:, None]
        past = tf.gather(beams.history, parents, batch_dims=1)  # [B, K, t]
        best = self._finish(beams, ends, sums, past, step)
        sums = tf.where(ends, -_INF, sums)
        history = tf.concat([past, tokens[..., None]], axis=2)
        best_score, best_ids, best_length, done = self._close(
            best, beams.done, sums, history, step, limits
        )
        return _Beams(
            step=step,
            sums=tf.where(done[:, None], -_INF, sums),
            last=tokens,
            history=history,
            lineage=tf.gather(lineage, parents, batch_dims=1),
            finished=beams.finished + tf.reduce_sum(tf.cast(ends, tf.int32), axis=1),
            done=done,
            best_score=best_score,
            best_ids=best_ids,
            best_length=best_length,
            caches=caches,
        )

    def _penalty(self, length: tf.Tensor) -> tf.Tensor:
        """As nmt_cli.search.beam.penalty, in float64."""
        return ((5.0 + tf.cast(length, tf.float64)) / 6.0) ** self._decoding.length_penalty

    def _finish(
        self, beams: "_Beams", ends: tf.Tensor, sums: tf.Tensor, past: tf.Tensor, step: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Best finished hypothesis of each sentence: score, ids [B, t + 1], length."""
        scored = tf.cast(tf.where(ends, sums, -_INF), tf.float64) / self._penalty(step)
        slot = tf.argmax(scored, axis=1, output_type=tf.int32)
        score = tf.reduce_max(scored, axis=1)
        ids = tf.gather(past, slot, batch_dims=1)  # [B, t]
        better = score > beams.best_score
        best_ids = tf.where(better[:, None], ids, beams.best_ids)
        return (
            tf.where(better, score, beams.best_score),
            tf.pad(best_ids, [[0, 0], [0, 1]]),
            tf.where(better, step - 1, beams.best_length),
        )

    def _close(
        self,
        best: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
        done: tf.Tensor,
        sums: tf.Tensor,
        history: tf.Tensor,
        step: tf.Tensor,
        limits: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Which sentences are done; at their limit the best open beam stands in."""
        score, ids, length = best
        open_best = tf.reduce_max(sums, axis=1)
        at_limit = step >= limits
        stand_in = ~done & tf.math.is_inf(score) & at_limit
        slot = tf.argmax(sums, axis=1, output_type=tf.int32)
        as_it_stands = tf.gather(history, slot, batch_dims=1)  # [B, t + 1]
        open_score = tf.cast(open_best, tf.float64)
        score = tf.where(stand_in, open_score / self._penalty(step), score)
        ids = tf.where(stand_in[:, None], as_it_stands, ids)
        length = tf.where(stand_in, step, length)
        settled = at_limit | (open_score / self._penalty(limits) <= score)
        return score, ids, length, done | settled


@dataclass(frozen=True)
class _Beams:
    """The loop's variables; see nmt_cli.search.beam._Beams for their meaning.

    Attributes:
        best_score: float64 [B], -inf while nothing is finished.
        best_ids: int32 [B, t], the best hypothesis, filled up with PAD.
        best_length: int32 [B], its length.
    """

    step: Any
    sums: Any
    last: Any
    history: Any
    lineage: Any
    finished: Any
    done: Any
    best_score: Any
    best_ids: Any
    best_length: Any
    caches: list[Any]

    def flat(self) -> tuple[Any, ...]:
        """As tf.while_loop wants them."""
        return tuple(getattr(self, each.name) for each in fields(self))

    @classmethod
    def of(cls, flat: tuple[Any, ...]) -> "_Beams":
        """The inverse of :meth:`flat`."""
        return cls(*flat)

    def invariants(self) -> tuple[Any, ...]:
        """Shapes that hold through the loop: the axes that grow with t are free."""
        width = self.sums.shape[1]
        return _Beams(
            step=tf.TensorShape([]),
            sums=tf.TensorShape([None, width]),
            last=tf.TensorShape([None, width]),
            history=tf.TensorShape([None, width, None]),
            lineage=tf.TensorShape([None, width, None]),
            finished=tf.TensorShape([None]),
            done=tf.TensorShape([None]),
            best_score=tf.TensorShape([None]),
            best_ids=tf.TensorShape([None, None]),
            best_length=tf.TensorShape([None]),
            caches=[
                tf.TensorShape([None, each.shape[1], None, each.shape[3]]) for each in self.caches
            ],
        ).flat()


def _rank(
    sums: tf.Tensor, scores: tf.Tensor, ids: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The K best continuations of each sentence: parent beam, token, sum; each [B, K]."""
    count, beams = tf.shape(sums)[0], sums.shape[1]
    candidates = tf.shape(ids)[2]
    totals = tf.reshape(sums[..., None] + scores, [count, beams * candidates])
    flat = tf.reshape(ids, [count, beams * candidates])
    # Sorting by token first and stably by total then, equal totals stand lower token first.
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
