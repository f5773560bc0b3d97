"""Translating with CTranslate2, from a folder of ``nmt export --ctranslate2``.

CTranslate2 searches by itself. Without a length penalty it finds what search/beam.py finds; its
formula for the penalty is another, ``score / length ** alpha``.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from nmt_cli.bundle import TOKENIZER
from nmt_cli.errors import ModelError, OptionError
from nmt_cli.files import read_record
from nmt_cli.options import settings_from
from nmt_cli.recipe.model import DecodingConfig
from nmt_cli.search.hypotheses import Hypotheses, Hypothesis, Pairs, Segment
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.translator import Translator, translator_for
from nmt_cli.text.tokenizer import TokenizerPair, load_tokenizers

SETTINGS = "nmt_ctranslate2.json"
FORMAT = 1


class _Record(TypedDict):
    decoding: dict[str, Any]


class CTranslate2Search:
    """A SegmentSearch by a ctranslate2.Translator."""

    def __init__(self, model: Any, tokenizers: TokenizerPair) -> None:
        self.model, self._tokenizers = model, tokenizers
        tokens = tokenizers.target.tokens(range(tokenizers.target.vocab_size))
        self._target_ids = {token: index for index, token in enumerate(tokens)}
        # CTranslate2 adds special tokens itself.
        self._start = len(tokenizers.source.with_special_tokens([])) - 1

    def search(self, batch: Sequence[Segment], options: SearchOptions) -> Hypotheses:
        """Search once: CTranslate2 has no second search of translations that repeat themselves."""
        ids = [segment.ids for segment in batch]
        limits = [options.limit(len(piece)) for piece in ids]
        # CTranslate2 has one limit per call: that of the longest sentence. The few sentences that
        # exceed their own limit are searched again one by one.
        longest = max(limits)
        results = self._run(ids, options, longest)
        return [
            self._run([piece], options, limit)
            if len(hypothesis.ids) >= limit < longest
            else [hypothesis]
            for piece, limit, hypothesis in zip(ids, limits, results, strict=True)
        ]

    def _run(
        self, batch: Sequence[list[int]], options: SearchOptions, limit: int
    ) -> list[Hypothesis]:
        results = self.model.translate_batch(
            [self._source(ids) for ids in batch],
            beam_size=options.beam_size,
            length_penalty=options.length_penalty,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=0,  # like ours: a translation may be empty
            return_scores=True,
        )
        return [
            Hypothesis(
                [self._target_ids[token] for token in result.hypotheses[0]], result.scores[0], []
            )
            for result in results
        ]

    def _source(self, ids: list[int]) -> list[str]:
        return self._tokenizers.source.tokens(ids[self._start : -1])

    def force(self, pairs: Pairs, attention: bool) -> Sequence[Hypothesis]:
        """Score given translations of sources that are not empty; attention is not available."""
        if attention:
            raise ModelError("a CTranslate2 model does not provide alignments", "use a bundle")
        results = self.model.score_batch(
            [self._source(source) for source, _ in pairs],
            [self._tokenizers.target.tokens(target) for _, target in pairs],
            max_input_length=0,
        )
        return [
            Hypothesis(target, sum(result.log_probs), result.log_probs)
            for (_, target), result in zip(pairs, results, strict=True)
        ]


def load_ctranslate2(
    folder: Path,
    options: DecodingOptions | None = None,
    inter_threads: int = 1,
    intra_threads: int = 0,
) -> Translator:
    """Load a folder of ``nmt export --ctranslate2``.

    Args:
        options: of the search; None for the export's own.
        inter_threads, intra_threads: see ctranslate2.Translator.

    Raises:
        ModelError: the folder is not such an export, is damaged or of a newer nmt.
    """
    import ctranslate2

    remedy = "create the folder with nmt export"
    record = read_record(folder / SETTINGS, _Record, FORMAT, "a CTranslate2 model of nmt", remedy)
    try:
        decoding = settings_from(DecodingConfig, record["decoding"], str(folder / SETTINGS))
        model = ctranslate2.Translator(
            str(folder), inter_threads=inter_threads, intra_threads=intra_threads
        )
    except (OptionError, ValueError, RuntimeError) as error:
        raise ModelError(f"{folder}: damaged ({error})", remedy) from None
    tokenizers = load_tokenizers(folder / TOKENIZER)
    search = CTranslate2Search(model, tokenizers)
    return translator_for(search, tokenizers, decoding, options, inter_threads)
