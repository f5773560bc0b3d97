"""Translating with CTranslate2, from a folder of ``nmt export --ctranslate2``.

CTranslate2 searches by itself. Without a length penalty it finds what search/beam.py finds; its
formula for the penalty is another, ``score / length ** alpha``.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.bundle import TOKENIZER
from nmt_cli.errors import NmtError, Say, silent
from nmt_cli.files import read_limited
from nmt_cli.recipe.decoding import DecodingConfig
from nmt_cli.recipe.reading import section_from
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.ranking import Hypothesis
from nmt_cli.search.translator import Segment, Translator
from nmt_cli.text.folder import load_tokenizers

SETTINGS = "nmt_ctranslate2.json"
FORMAT = 1


@dataclass(frozen=True)
class CTranslate2Translator(Translator):
    """A Translator that leaves the search to CTranslate2.

    Attributes:
        model: a ctranslate2.Translator.
    """

    model: Any

    @cached_property
    def _target_ids(self) -> dict[str, int]:
        target = self.tokenizers.target
        return {token: at for at, token in enumerate(target.tokens(range(target.vocab_size)))}

    def log_probs(self, source: list[int], target: list[int]) -> NDArray[np.float32] | None:
        """Log-probabilities of a translation's tokens and of END; None for an empty source.

        Source and target are unframed ids.
        """
        if not source:  # CTranslate2 cannot read it
            return None
        (result,) = self.model.score_batch(
            [self.tokenizers.source.tokens(source)],
            [self.tokenizers.target.tokens(target)],
            max_input_length=0,
        )
        return np.array(result.log_probs, np.float32)

    def _search_batch(self, batch: list[Segment]) -> list[list[Hypothesis]]:
        ids = [each.ids for each in batch]
        limits = [self.options.limit(len(each)) for each in ids]
        # CTranslate2 has one limit a call: that of the longest sentence. The few sentences that
        # exceed their own limit are searched again one by one.
        longest = max(limits)
        found = self._run(ids, longest)
        return [
            self._run([piece], limit) if len(each.ids) >= limit < longest else [each]
            for piece, limit, each in zip(ids, limits, found, strict=True)
        ]

    def _run(self, batch: Sequence[list[int]], limit: int) -> list[Hypothesis]:
        source = self.tokenizers.source
        marks = len(source.frame_source([]))  # CTranslate2 frames the source itself
        results = self.model.translate_batch(
            [source.tokens(piece[marks - 1 : -1]) for piece in batch],
            beam_size=self.options.beam_size,
            length_penalty=self.options.length_penalty,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=0,  # like ours: a translation may be empty
            return_scores=True,
        )
        return [
            Hypothesis(
                [self._target_ids[token] for token in each.hypotheses[0]], each.scores[0], []
            )
            for each in results
        ]


def load_ctranslate2(
    folder: Path,
    options: DecodingOptions | None = None,
    warn: Say = silent,
    inter_threads: int = 1,
    intra_threads: int = 0,
) -> CTranslate2Translator:
    """Load an exported folder.

    Args:
        folder: written by ``nmt export --ctranslate2``.
        options: of the search; None for the export's own.
        warn: receives a line when a line of text is split.
        inter_threads, intra_threads: as of ctranslate2.Translator.

    Raises:
        NmtError: the folder is not such an export, is damaged or of a newer nmt.
    """
    import ctranslate2

    path = folder / SETTINGS
    try:
        record = json.loads(read_limited(path))
        if record["format"] > FORMAT:
            raise NmtError(f"{folder}: exported by a newer nmt", "upgrade nmt")
        decoding = section_from(DecodingConfig, record["decoding"], str(path))
        model = ctranslate2.Translator(
            str(folder), inter_threads=inter_threads, intra_threads=intra_threads
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise NmtError(
            f"{folder}: not a CTranslate2 model that nmt exported, or damaged ({error})",
            "create the folder with nmt export --ctranslate2",
        ) from None
    return CTranslate2Translator(
        model=model,
        tokenizers=load_tokenizers(folder / TOKENIZER),
        options=SearchOptions.of(decoding, options),
        max_source=decoding.max_source,
        warn=warn,
        workers=inter_threads,
    )
