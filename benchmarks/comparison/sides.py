"""The two sides, nmt and CTranslate2, each inside a process of its own.

Each returns the seconds of its calls and the token ids of its translations, without END.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

from comparison.plan import OWN, latency_rows

from nmt_cli import models
from nmt_cli.bench import endless
from nmt_cli.search.beam import beam_search
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.segments import BeamSearch, padded
from nmt_cli.search.translator import Translator

Found = TypeVar("Found")
Ids = list[int]


@dataclass(frozen=True)
class Job:
    """What a process measures.

    Attributes:
        side: "nmt", "ctranslate2" or "product".
        folder: the model.
        workers, each: threads, as in :class:`comparison.plan.Threads`.
        lines: source sentences.
        limit: maximum tokens of a translation, or exact number if ``forced``.
        precision, width: of the bare matrix product.
    """

    side: str
    folder: str
    workers: int
    each: int
    lines: list[str]
    limit: int
    forced: bool
    precision: str = ""
    width: int = 0


class Side(Protocol):
    """A loaded model."""

    def run(self, beam_size: int, batch: int, batch_tokens: int) -> tuple[list[float], list[Ids]]:
        """Translate the job's lines with a cell's settings; for batch 1 only some of them."""


class Ours:
    """A bundle, as ``nmt translate`` runs it."""

    def __init__(self, job: Job) -> None:
        model = models.open(job.folder, threads=job.workers * job.each, workers=job.workers)
        translator = model.translator()
        model = endless(translator.model) if job.forced else translator.model
        search = BeamSearch(model, translator.tokenizers)
        self._translator: Translator = replace(translator, search=search)
        self._job = job

    @cached_property
    def _pieces(self) -> list[Ids]:
        source = self._translator.tokenizers.source
        return [source.with_special_tokens(ids) for ids in source.encode(self._job.lines)]

    def run(self, beam_size: int, batch: int, batch_tokens: int) -> tuple[list[float], list[Ids]]:
        """See :class:`Side`; ``batch_tokens`` is ignored."""
        limit = self._job.limit
        options = replace(
            self._translator.options,
            beam_size=beam_size,
            length_penalty=0.0,
            max_length=limit,
            length_ratio=0.0,
            length_extra=limit,
            no_repeat_ngram=0,  # CTranslate2 does not search again
        )
        if batch == OWN:
            translator = replace(self._translator, options=options)
            return timed(lambda: [each.ids for each in translator.translate(self._job.lines)])
        if batch == 1:
            rows = latency_rows(len(self._pieces))
            return _one_by_one(lambda row: self._search([self._pieces[row]], options), rows)
        return timed(lambda: self._batches(batch, options))

    def _batches(self, size: int, options: SearchOptions) -> list[Ids]:
        order = sorted(range(len(self._pieces)), key=lambda row: -len(self._pieces[row]))
        batches = [order[at : at + size] for at in range(0, len(order), size)]
        results: list[Ids] = [[] for _ in order]
        with ThreadPoolExecutor(self._job.workers) as pool:
            found = pool.map(
                lambda rows: self._search([self._pieces[row] for row in rows], options), batches
            )
            for rows, translations in zip(batches, found, strict=True):
                for row, ids in zip(rows, translations, strict=True):
                    results[row] = ids
        return results

    def _search(self, pieces: Sequence[Ids], options: SearchOptions) -> list[Ids]:
        found = beam_search(self._translator.model, padded(pieces), options)
        return [hypotheses[0].ids for hypotheses in found]


class Theirs:
    """CTranslate2, which sorts and batches the lines of a call itself."""

    def __init__(self, job: Job) -> None:
        from nmt_cli.export.ctranslate2.translator import load_ctranslate2

        loaded = load_ctranslate2(
            Path(job.folder),
            DecodingOptions(length_penalty=0.0),
            inter_threads=job.workers,
            intra_threads=job.each,
        )
        self._model, self._tokenizers, self._job = loaded.search.model, loaded.tokenizers, job

    @cached_property
    def _sources(self) -> list[list[str]]:
        return self._tokens(self._job.lines)

    @cached_property
    def _ids(self) -> dict[str, int]:
        target = self._tokenizers.target
        return {token: at for at, token in enumerate(target.tokens(range(target.vocab_size)))}

    def run(self, beam_size: int, batch: int, batch_tokens: int) -> tuple[list[float], list[Ids]]:
        """See :class:`Side`."""
        if batch == OWN:
            return timed(lambda: self._text_to_text(beam_size, batch_tokens))
        if batch == 1:
            rows = latency_rows(len(self._sources))
            seconds, found = _one_by_one(
                lambda row: self._search([self._sources[row]], beam_size, 1, "examples"), rows
            )
        else:
            seconds, found = timed(
                lambda: self._search(self._sources, beam_size, batch, "examples")
            )
        return seconds, [self._numbers(each) for each in found]

    def _tokens(self, lines: Sequence[str]) -> list[list[str]]:
        source = self._tokenizers.source
        return [source.tokens(ids) for ids in source.encode(lines)]

    def _numbers(self, tokens: Sequence[str]) -> Ids:
        return [self._ids[each] for each in tokens]

    def _text_to_text(self, beam_size: int, batch_tokens: int) -> list[Ids]:
        found = self._search(self._tokens(self._job.lines), beam_size, batch_tokens, "tokens")
        ids = [self._numbers(each) for each in found]
        self._tokenizers.target.decode(ids)
        return ids

    def _search(
        self, sources: list[list[str]], beam_size: int, size: int, kind: str
    ) -> list[list[str]]:
        results = self._model.translate_batch(
            sources,
            beam_size=beam_size,
            length_penalty=0.0,
            max_batch_size=size,
            batch_type=kind,
            max_input_length=0,
            max_decoding_length=self._job.limit,
            min_decoding_length=self._job.limit if self._job.forced else 0,
            return_scores=False,
        )
        return [each.hypotheses[0] for each in results]


def timed(call: Callable[[], list[Found]]) -> tuple[list[float], list[Found]]:
    """Return the seconds of a call and its results."""
    began = time.perf_counter()
    found = call()
    return [time.perf_counter() - began], found


def _one_by_one(
    call: Callable[[int], list[Found]], rows: Sequence[int]
) -> tuple[list[float], list[Found]]:
    each_row = [timed(lambda row=row: call(row)) for row in rows]
    return [each[0][0] for each in each_row], [each[1][0] for each in each_row]
