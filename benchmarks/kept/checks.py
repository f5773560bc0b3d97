"""What a translated file must still have, whatever the words are."""

import html
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

# Holders of values and marks that are not words, in messages and subtitles.
PLACEHOLDER = re.compile(
    r"%(?:\(\w+\)|\d+\$)?[-+#0-9.]*[sdifgxu@]|\{\{[^}]*\}\}|\$?\{[\w.]*\}|\\h|\{\\\w+\}|%\{\w+\}"
)
TAG = re.compile(r"</?[a-zA-Z][^>]*>")
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\ufe0f\ufe0e"))
_LETTER = re.compile(r"[^\W\d_]")
_TEXT_ATTRIBUTES = {"alt", "title", "placeholder", "label", "content", "value", "aria-label"}
_VOID = {"br", "hr", "img", "input", "link", "meta", "wbr"}


def letters(text: str) -> int:
    """Number of letters outside tags, entities and placeholders."""
    return len(_LETTER.findall(PLACEHOLDER.sub(" ", re.sub(r"&#?\w+;|<[^>]*>", " ", text))))


def digits(text: str) -> list[str]:
    """The numbers of a text without their separators, sorted."""
    return sorted(re.sub(r"\D", "", run) for run in re.findall(r"\d(?:[\d.,\s]*\d)?", text))


def difference(what: str, source: Counter[str], output: Counter[str]) -> Iterator[str]:
    """Yield what two counts do not share."""
    if source != output:
        lost, more = sorted((source - output).elements()), sorted((output - source).elements())
        yield f"{what}: lost {lost}, more {more}"


class _Elements(HTMLParser):
    """Counts the tags of a document and the letters in each element."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.empty: Counter[str] = Counter()
        self._open: list[tuple[str, int]] = []
        self._letters = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kept = [f'{name}="{value}"' for name, value in attrs if name not in _TEXT_ATTRIBUTES]
        self.tags[" ".join([tag, *kept])] += 1
        if tag not in _VOID:
            self._open.append((tag, self._letters))

    def handle_endtag(self, tag: str) -> None:
        self.tags[f"/{tag}"] += 1
        while self._open and any(name == tag for name, _ in self._open):
            name, letters_before = self._open.pop()
            self.empty[name] += self._letters == letters_before
            if name == tag:
                break

    def handle_data(self, data: str) -> None:
        self._letters += len(_LETTER.findall(data))


def _html(source: str, output: str) -> Iterator[str]:
    before, after = _Elements(source), _Elements(output)
    yield from difference("tags", before.tags, after.tags)
    if emptied := after.empty - before.empty:
        yield f"emptied: {sorted(emptied.elements())}"


def _markdown(source: str, output: str) -> Iterator[str]:
    patterns = {
        "links": r"\]\([^#)\s][^)\s]*",
        "footnotes": r"\[\^[^\]]+\]:?",
        "code": r"`[^`\n]+`",
        "headings": r"(?m)^#+ ",
        "items": r"(?m)^\s*(?:[-*+]|\d+\.) ",
        "abbreviations": r"(?m)^\*\[\w+\]:",
    }
    for what, pattern in patterns.items():
        before, after = (Counter(re.findall(pattern, text)) for text in (source, output))
        yield from difference(what, before, after)
    if re.search(r"(?<!!)\[\]\(", output):
        yield "emptied: a link"
    blocks = [len(re.split(r"\n\s*\n", text.strip())) for text in (source, output)]
    if blocks[0] != blocks[1]:
        yield f"{blocks[0]} blocks became {blocks[1]}"


def _srt(source: str, output: str) -> Iterator[str]:
    before, after = (
        [cue.split("\n", 2) for cue in re.split(r"\n\s*\n", text.strip("\n"))]
        for text in (source, output)
    )
    if [cue[:2] for cue in before] != [cue[:2] for cue in after]:
        yield "cues or times differ"
    for cue, translated in zip(before, after, strict=False):
        texts = ["".join(one[2:]) for one in (cue, translated)]
        if letters(texts[0]) and not letters(texts[1]):
            yield f"words lost: {texts[0]!r}"
        yield from difference(
            "tags", *(Counter(re.findall(r"<[^>]*>|\{\\[^}]*\}|\\h", text)) for text in texts)
        )


def messages(text: str) -> list[tuple[str, str]]:
    """The messages of a PO file with their translations, without the header."""
    quoted = r'((?:"(?:\\.|[^"\\])*"\s*)+)'

    def joined(lines: str) -> str:
        return "".join(json.loads(line) for line in re.findall(r'"(?:\\.|[^"\\])*"', lines))

    pairs = [
        (joined(key), joined(value))
        for key, value in re.findall(rf"msgid {quoted}msgstr {quoted}", text)
    ]
    return [pair for pair in pairs if pair[0]]


def _po(source: str, output: str) -> Iterator[str]:
    pairs = messages(output)
    if [key for key, _ in messages(source)] != [key for key, _ in pairs]:
        yield "messages differ"
    for key, value in pairs:
        if letters(key) and not letters(value):
            yield f"words lost: {key!r}"
        if "plural," not in key and "select," not in key:
            counts = (Counter(PLACEHOLDER.findall(text)) for text in (key, value))
            yield from difference("placeholders", *counts)
        if key.count("\n") != value.count("\n"):
            yield f"line breaks lost: {key!r}"


def _text(source: str, output: str) -> Iterator[str]:
    before, after = source.split("\n"), output.split("\n")
    if len(before) != len(after):
        yield f"{len(before)} lines became {len(after)}"
    for line, translated in zip(before, after, strict=False):
        if digits(line) != digits(translated):
            yield f"digits: {digits(line)} became {digits(translated)}"
        counts = (Counter(PLACEHOLDER.findall(text)) for text in (line, translated))
        yield from difference("placeholders", *counts)


_CHECKS: dict[str, Callable[[str, str], Iterator[str]]] = {
    "html": _html,
    "markdown": _markdown,
    "srt": _srt,
    "po": _po,
    "text": _text,
}


def problems(format: str, source: str, output: str) -> Iterator[str]:
    """Yield what the translation of a file has lost or added besides words."""
    if format in _CHECKS:
        yield from _CHECKS[format](source, output)
    needed, count = letters(text_of(format, source, "key")), letters(text_of(format, output))
    if count < 0.4 * needed:
        yield "letters lost"
    if count > 40 + 2 * needed:
        yield "letters added"


def text_of(format: str, document: str, part: str = "value") -> str:
    """The text of a document in which words are looked for; of PO, keys or values."""
    if format == "po":
        return "\n".join(pair[part == "value"] for pair in messages(document))
    if format == "jsonl":
        return "\n".join(json.loads(line)["text"] for line in document.splitlines() if line)
    return document


def readings(format: str, output: str) -> list[str]:
    """A translation as text without its marks, removed or replaced by spaces."""
    text = text_of(format, output).translate(INVISIBLE)
    text = unicodedata.normalize("NFC", html.unescape(text))
    bare = re.compile(rf"{TAG.pattern}|{PLACEHOLDER.pattern}|\\[a-z]|[_&~*]")
    return [bare.sub("", text), bare.sub(" ", text)]
