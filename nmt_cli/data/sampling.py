"""Subword sampling, new in each epoch: subword regularization and BPE-dropout."""

from nmt_cli.data.arrays import TokenArray
from nmt_cli.data.corpus import Corpus
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.tokenizer import TokenizerPair


class SampledText:
    """A corpus whose subwords depend only on the seed and the epoch.

    Args:
        text: the pairs.
        tokenizers: SentencePiece on both sides, as the recipe's rules require.
        limit: maximum tokens of either side, including START and END; a longer sample is replaced
            by the usual subwords.
        alpha: unigram: the smoothing of Kudo 2018 (arXiv:1804.10959, section 3.2); BPE: the share
            of merges left out (Provilkov et al. 2020, arXiv:1910.13267).
        seed: random seed.
    """

    def __init__(
        self, text: Corpus, tokenizers: TokenizerPair, limit: int, alpha: float, seed: int
    ) -> None:
        self._text, self._tokenizers = text, tokenizers
        self._limit, self._alpha, self._seed = limit, alpha, seed

    def arrays(self, epoch: int) -> tuple[TokenArray, TokenArray]:
        """Sample the source (framed) and target arrays of an epoch."""
        pair = self._tokenizers
        sources = self._sample(pair.source, self._text.source, 2 * epoch)
        targets = self._sample(pair.target, self._text.target, 2 * epoch + 1)
        return TokenArray.of([pair.source.frame_source(ids) for ids in sources]), TokenArray.of(
            targets
        )

    def _sample(self, tokenizer: object, lines: list[str], number: int) -> list[list[int]]:
        assert isinstance(tokenizer, SentencePieceTokenizer), "recipe rules refuse others"
        drawn = tokenizer.sample(lines, self._alpha, self._seed * 1_000_003 + number)
        usual = tokenizer.encode(lines)
        return [
            ids if len(ids) + 1 <= self._limit else fallback
            for ids, fallback in zip(drawn, usual, strict=True)
        ]
