"""The text path: what happens to a line before the source tokenizer and after the target one.

A line passes the steps of STEPS that its model's settings switch on, in order, is split if the
model cannot read it at a time, and becomes ids. Its translation is joined, becomes one line, and
passes the same steps in reverse. Every step keeps track of positions, so that words are always
words of the user's line and of the final translation.

The tokenizers normalize text themselves: punctuation if tokenizer.json says so, and then
SentencePiece's or WordPiece's own rules. docs/clients/ and the page of `nmt export --web` implement
the same path; tests/vectors/text_path.json has examples for all of them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from nmt_cli.text.edits import Edit, MappedText, Span, Step, fold_capitals, repair_code
from nmt_cli.text.tokenizer import TokenizerPair, encode_lines

if TYPE_CHECKING:
    from nmt_cli.recipe.model import DecodingConfig

Token = TypeVar("Token")

# The setting of [decoding] that switches each step on, and the step, in the order of lines. Lines
# whose translation must contain given words skip them.
STEPS: tuple[tuple[str, Step], ...] = (
    ("fold_capitals", fold_capitals),
    ("repair_code", repair_code),
)

# Where an over-long line may be split: white space after the end of a sentence. The exported
# SavedModel uses the same pattern (RE2), so it uses plain classes only.
SENTENCE_END = r"([.!?…][\"'”’»)\]]*)[ \t]+"
# Byte tokens can spell a line break, which would break the line count.
LINE_BREAK = re.compile(r"[\r\n]+")
_BETWEEN_SENTENCES = re.compile(rf"{SENTENCE_END}|\n")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Passage:
    """A line on its path through the model.

    Attributes:
        line: as the user wrote it.
        text: as the tokenizer gets it.
        parts: ids with special tokens; one part unless the line is over-long, none if it is blank.
        edits: what to do with its translation, in order.
    """

    line: str
    text: MappedText
    parts: list[list[int]]
    edits: list[Edit]


@dataclass(frozen=True)
class Words:
    """The spans of a text's words, which white space separates, and the tokens of each.
    ``tokens`` has, for each part of the text, the positions of each word's tokens."""

    spans: list[Span]
    tokens: list[list[list[int]]]

    @classmethod
    def of(cls, text: str, parts: Sequence[Sequence[Span]], first: int = 0) -> "Words":
        """Assign tokens to words, from the span of each token of each part in the text.
        ``first`` is the position of the first of these tokens among the tokens of a part."""
        spans = [match.span() for match in _WORD.finditer(text)]
        ends = [end for _, end in spans]
        tokens = []
        for part in parts:
            words: list[list[int]] = [[] for _ in spans]
            for token, (start, end) in enumerate(part, start=first):
                core = text[start:end].rstrip()
                # Most tokens include the space before them; an empty one belongs to what follows.
                word = bisect_right(ends, start + max(0, len(core) - 1))
                if word < len(words):
                    words[word].append(token)
            tokens.append(words)
        return cls(spans, tokens)

    def named(self, text: str) -> list[tuple[str, list[int]]]:
        """Return the words of a text in one part, and their tokens."""
        (part,) = self.tokens
        return [(text[slice(*span)], tokens) for span, tokens in zip(self.spans, part, strict=True)]


@dataclass(frozen=True)
class TextPath:
    """The path of a model's lines, of ``max_source`` tokens at a time, and of translations."""

    tokenizers: TokenizerPair
    max_source: int
    steps: tuple[Step, ...] = ()

    @classmethod
    def of(cls, tokenizers: TokenizerPair, decoding: "DecodingConfig") -> "TextPath":
        """Return the path that a model's settings describe."""
        steps = tuple(step for setting, step in STEPS if getattr(decoding, setting))
        return cls(tokenizers, decoding.max_source, steps)

    def read(self, lines: Sequence[str], is_free: Sequence[bool]) -> list[Passage]:
        """Prepare lines for the model; steps may change those that are free."""
        changed = [self._before(line, free) for line, free in zip(lines, is_free, strict=True)]
        ids = encode_lines(self.tokenizers.source, [text.text for text, _ in changed])
        return [
            Passage(line, text, self._parts(text.text, tokens), edits)
            for line, (text, edits), tokens in zip(lines, changed, ids, strict=True)
        ]

    def _before(self, line: str, is_free: bool) -> tuple[MappedText, list[Edit]]:
        text, edits = MappedText(line), list[Edit]()
        for step in self.steps if is_free else ():
            text, edit = step(text)
            if edit:
                edits.insert(0, edit)
        return text, edits

    def _parts(self, text: str, ids: list[int]) -> list[list[int]]:
        tokenizer, parts = self.tokenizers.source, [ids] if ids else []
        if len(ids) > self.max_source:
            encoded = tokenizer.encode([text[slice(*sentence)] for sentence in _sentences(text)])
            parts = [part for ids in encoded for part in even_parts(ids, self.max_source)]
        return [tokenizer.with_special_tokens(part) for part in parts]

    def written(self, passage: Passage, translations: Sequence[str]) -> MappedText:
        """Return the translation of a line, made of those of its parts."""
        joined = " ".join(translations) if passage.parts else passage.line
        text = MappedText(joined).substituted(LINE_BREAK, " ")
        for edit in passage.edits:
            text = edit(text)
        return text

    def source_words(self, passage: Passage) -> Words:
        """Return the words of the user's line, and their tokens in each part."""
        return Words.of(passage.line, self._source_spans(passage), self._before_source)

    def tokenizer_words(self, passage: Passage, index: int) -> list[tuple[str, list[int]]]:
        """Return the tokenizer's words of a part, as the user wrote them, and their tokens."""
        first, spans = self._before_source, self._source_spans(passage)[index]
        groups = self.tokenizers.source.words(passage.parts[index][first : first + len(spans)])
        return [
            (
                passage.line[spans[group[0]][0] : spans[group[-1]][1]].strip(),
                [first + token for token in group],
            )
            for group in groups
        ]

    @property
    def _before_source(self) -> int:
        """The number of special tokens before those of the source."""
        return len(self.tokenizers.source.with_special_tokens([])) - 1

    def _source_spans(self, passage: Passage) -> list[list[Span]]:
        """Return the spans of each part's tokens, without special ones, in the user's line."""
        text, tokenizer, parts = passage.text.text, self.tokenizers.source, list[list[Span]]()
        spans = tokenizer.spans(text) or [(0, len(text))]
        if len(spans) <= self.max_source:
            parts = [spans] if passage.parts else []
        else:
            for start, end in _sentences(text):
                sentence = tokenizer.spans(text[start:end])
                shifted = [(first + start, last + start) for first, last in sentence]
                parts += even_parts(shifted, self.max_source)
        return [[passage.text.origin(*span) for span in part] for part in parts]

    def target_words(
        self, text: MappedText, translations: Sequence[tuple[str, Sequence[Span]]]
    ) -> Words:
        """Return the words of a final translation, and their tokens in each part.

        Args:
            text: the result of :meth:`written`.
            translations: of the parts, each with the spans of its tokens in it.
        """
        parts, start = list[list[Span]](), 0
        for part, spans in translations:
            parts.append([text.current(first + start, last + start) for first, last in spans])
            start += len(part) + 1  # with the space between them
        return Words.of(text.text, parts)


def _sentences(text: str) -> Iterator[Span]:
    start = 0
    for match in _BETWEEN_SENTENCES.finditer(text):
        yield start, match.end(1) if match[1] else match.start()
        start = match.end()
    yield start, len(text)


def even_parts(tokens: list[Token], limit: int) -> Iterator[list[Token]]:
    """Split tokens into few parts of about the same length: a short rest would have no context."""
    size = -(-len(tokens) // max(1, -(-len(tokens) // limit)))
    yield from (tokens[start : start + size] for start in range(0, len(tokens), max(1, size)))
