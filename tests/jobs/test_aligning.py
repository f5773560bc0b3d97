"""Words of tokens are found in their text."""

from collections.abc import Sequence
from typing import Any

from nmt_cli.jobs.aligning import word_places


class Words:
    """One token per word, which the tokenizer may have normalized."""

    def __init__(self, *words: str) -> None:
        self.all = words

    def words(self, ids: Sequence[int]) -> list[list[int]]:
        return [[at] for at in range(len(ids))]

    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        return [self.all[ids[0]] for ids in sequences]


def found(text: str, *words: str) -> list[str]:
    tokenizer: Any = Words(*words)
    places = word_places(text, range(len(words)), tokenizer)
    return [text[start:end] for start, end in places]


def test_word_places() -> None:
    assert found("a b a", "a", "b", "a") == ["a", "b", "a"]
    assert found("a ﬁx b", "a", "fix", "b") == ["a", "ﬁx", "b"]
    assert found("ﬁ a", "fi", "a") == ["ﬁ", "a"]
    assert found("a ﬁ", "a", "fi", "b") == ["a", "ﬁ", ""]
    assert found("") == []
