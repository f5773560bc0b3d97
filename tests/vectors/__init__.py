"""Examples of the text path, which Python, JavaScript and docs/clients/ share.

``python -m tests.vectors`` writes what the text path makes of each line into the file again.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nmt_cli.recipe.model import DecodingConfig
from nmt_cli.search.hypotheses import Hypotheses, Hypothesis, Pairs, Segment
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import translator_for
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.tokenizer import TokenizerPair
from tests.search.fakes import Characters

FILE = Path(__file__).with_name("text_path.json")
VECTORS = json.loads(FILE.read_text(encoding="utf-8"))
TOKENIZER = Path(__file__).parents[2] / VECTORS["tokenizer"]
SOURCE = SentencePieceTokenizer(TOKENIZER)

Write = Callable[[str], tuple[str, float]]


class Scripted:
    """A search that translates a text as a function says, with the mean of its tokens' scores."""

    def __init__(self, write: Write) -> None:
        self.write, self.reads = write, list[tuple[str, list[int]]]()

    def search(self, batch: Sequence[Segment], options: SearchOptions) -> Hypotheses:
        return [[self._hypothesis(segment.ids)] for segment in batch]

    def _hypothesis(self, ids: list[int]) -> Hypothesis:
        (text,) = SOURCE.decode([ids])
        self.reads.append((text, ids))
        translation, mean = self.write(text)
        (written,) = Characters().encode([translation])
        return Hypothesis(written, mean, [mean] * (len(translation) + 1))

    def force(self, pairs: Pairs, attention: bool) -> Sequence[Hypothesis]:
        raise AssertionError("no example needs attention")


def translate(
    line: str, settings: dict[str, Any], languages: Sequence[str], write: Write
) -> tuple[str, list[tuple[str, list[int]]]]:
    """Return the translation of a line by nmt, and what the model reads: texts and ids."""
    search, tokenizers = Scripted(write), TokenizerPair(SOURCE, Characters())
    decoding = DecodingConfig(**settings)
    source, target = languages
    translator = translator_for(search, tokenizers, decoding, languages=(source, target))
    (translation,) = translator.translate([line])
    return translation.text, search.reads


def by_example(example: dict[str, Any]) -> Write:
    """Return how the model of an example translates."""
    written: dict[str, Any] = example["model"]
    return lambda text: (written[text][0], written[text][1])
