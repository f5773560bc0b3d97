"""Messages of applications: placeholders, ICU messages, accelerators.

The texts of an ICU message are translated one by one, and its syntax stays byte for byte. The text
around an argument or a quoted part has a placeholder instead, such as ``{count}``.

An accelerator (``_Open``, ``E&xit``, ``~File``) is taken out of a message, and set before a letter
of the translation: the same letter if there is one, preferably at the beginning of a word.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import islice

from nmt_cli.formats import spans
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import Segment, translate_segments
from nmt_cli.formats.spans import Finder, Kind, Span, masked
from nmt_cli.text.kept import ADDRESSES, NAMED_PRINTF, PRINTF, SPACED_PRINTF, TEMPLATES, VARIABLES

# Messages in place of which translators write their names, of gettext, GNOME and KDE.
_CREDITS = re.compile("translators?[-_]credits|Your (?:names|emails)")
_SHORTCUT = r"\t(?:(?:Ctrl|Control|Alt|Shift|Cmd|Command|Option|Meta|Super|Win)\+\S+|F\d{1,2})$"
_ENDING = re.compile(r"(\s?(?:\.{3}|…|(?<!:):+)\Z|\Z)")  # of labels, which are read without it
_ESCAPED_TAG = r"&lt;/?[A-Za-z][\w:.-]*(?:\s(?:(?!&[lg]t;)[^<>])*)?/?(?:&gt;|>)"
_FREE = (
    spans.CODE_ELEMENT, spans.COMMENT, rf"(?!{_ESCAPED_TAG}){spans.ENTITY}|&&", *ADDRESSES,
    *TEMPLATES, r"%%", *NAMED_PRINTF,
    r"``[^`]{1,999}``|:[a-z]{1,32}:`[^`]{1,999}`",  # reStructuredText, of Sphinx
    r"\{\s*[\w.]+\s*(?:,(?:[^{}]|\{[^{}]*\})*)?\}",  # ICU, Java: { x }, {x, number, integer}
    r"\$t\([^()]{1,199}\)",  # i18next
    r"(?<!\w)@(?:\.\w+)?:(?:\w[\w.-]*\b|\([^()]{1,99}\)|\{'[^{}']{1,99}'\})",  # Vue
    r"(?<![\w$])\$\w+\$|%#@\w+@",  # Chrome, iOS
    r"(?<![\w%])%\w[\w.-]{0,63}%(?![\w%])",  # Symfony
    r"(?<![\w%])%L?\d{1,2}(?![\w.$%])",  # Qt, JabRef
    r"(?<![\w:]):[a-z_]\w+\b:?",  # Laravel
    r"(?<![\w%])%[-^]?[aAbBeHIjklLmMpPSuUwWyYzZ](?![\w%])",  # strftime
    *VARIABLES, r"(?<![\w-])--[A-Za-z][\w-]*",
)  # fmt: skip


@cache
def placeholders_finder(printf: bool = False, qt: bool = False) -> Finder:
    """Make a function that finds placeholders, options, tags and addresses.

    With a format flag, "100% of" contains a placeholder; with one of Qt or KDE, "%1s" does.
    """
    return spans.spans_finder(
        breaks=[_SHORTCUT, *spans.CONTROL, spans.LINE_BREAK_TAG],
        free=[*_FREE, *([r"%L?\d{1,2}"] if qt else [])],
        fixed=[spans.TAG, _ESCAPED_TAG, SPACED_PRINTF if printf else PRINTF, spans.BRACES],
    )


def translate_messages(
    messages: Sequence[Segment], translate: Translate, java: bool = False
) -> list[str]:
    """Translate messages and keep their placeholders, syntax, accelerators and line breaks.

    In ``java``, apostrophes are doubled beside ``{0}``.
    """
    parts = [_parts(message, java) for message in messages]
    segments, endings = list[Segment](), list[str]()
    for message, (texts, find, _) in zip(messages, parts, strict=True):
        for text in texts:
            core, ending, _ = _ENDING.split(text, 1)
            segments.append(Segment(core, find, message.where))
            endings.append(ending)
    results = (
        _ENDING.split(result, 1)[0] + ending if ending else result
        for result, ending in zip(translate_segments(segments, translate), endings, strict=True)
    )
    return [write(list(islice(results, len(texts)))) for texts, _, write in parts]


def _parts(
    message: Segment, java: bool
) -> tuple[Sequence[str], Finder, Callable[[Sequence[str]], str]]:
    """Return a message's texts, what finds spans in them, and what writes their translations."""
    text, find, icu = message.text, message.find, _Icu(message.text, java)
    if _CREDITS.fullmatch(text.strip()):
        return [], find, lambda results: text
    if icu.is_valid():
        texts = [text.replace("''", "'") for text in icu.texts]
        return texts, partial(_with_numbers, find), icu.written
    if (index := _accelerator(message)) is not None:
        plain = text[:index] + text[index + 1 :]
        return [plain], find, partial(_with_accelerator, message, index)
    return [text], find, lambda results: results[0]


def _with_numbers(find: Finder, text: str) -> list[Span]:
    """Find the numbers of plurals too, with the ending of an ordinal: ``#`` and ``#th``."""
    known = find(text)
    numbers = re.finditer(r"#(?:(?:st|nd|rd|th)\b|[ªº])?", masked(text, known))
    spans = [*known, *(Span(*match.span(), Kind.FREE) for match in numbers)]
    return sorted(spans, key=lambda span: span.start)


_QUOTED = re.compile(r"(?<!')'[{}#](?:[^']|'')*+(?:'|\Z)")
_BRANCH = re.compile(r"(?<!\s)\s*(?:=\d+|(?<![\w-])[\w-]+)\s*\{((?:[^{}]|\{[^{}]*+\})*+)\}")
_CHOICE = re.compile(  # without another one in its texts
    r"\{\s*([\w.-]+)\s*,\s*(?:select|plural|selectordinal)\s*,(?:\s*offset:\s*\d+)?"
    rf"((?:{_BRANCH.pattern})++)\s*\}}"
)
_ARGUMENT = re.compile(r"\{[^{}]*+\}")


class _Icu:
    """An ICU message.

    Attributes:
        texts: of its arguments, the inner ones first, and the text around all of them.
        syntax: source text, and numbers of texts in it, by the placeholder that replaces it.
    """

    def __init__(self, source: str, java: bool) -> None:
        self.source, self.java = source, java
        self.texts: list[str] = []
        self.syntax: dict[str, list[str | int]] = {}
        text = _QUOTED.sub(lambda match: self._placeholder("text", [match[0]]), source)
        for _ in range(20):  # what is nested deeper is an ordinary message
            text = _CHOICE.sub(self._choice, text)
        self.texts.append(text)

    def is_valid(self) -> bool:
        """Whether it is not an ordinary message, or a malformed one."""
        is_java = self.java and re.search(r"\{\d", self.source)
        is_icu = is_java or len(self.texts) > 1
        return bool(is_icu and not re.search("[{}]", _ARGUMENT.sub("", self.texts[-1])))

    def _choice(self, match: re.Match[str]) -> str:
        parts, done = list[str | int](), match.start()
        for branch in _BRANCH.finditer(match.string, *match.span(2)):
            parts += [match.string[done : branch.start(1)], len(self.texts)]
            self.texts.append(branch[1])
            done = branch.end(1)
        return self._placeholder(match[1], [*parts, match.string[done : match.end()]])

    def _placeholder(self, name: str, parts: list[str | int]) -> str:
        while (new := f"{{{name}}}") in self.source or new in self.syntax:
            name += str(len(self.syntax))
        self.syntax[new] = parts
        return new

    def written(self, results: Sequence[str]) -> str:
        """Return the message with translated texts, and with quotes where they need them."""
        written = list[str]()

        def syntax(match: re.Match[str]) -> str:
            parts = self.syntax.get(match[0], [match[0]])
            return "".join(part if isinstance(part, str) else written[part] for part in parts)

        doubled = "''" in self.source or (self.java and "'" not in self.source)
        apostrophe = "'" if doubled else r"'(?=[{}#]|\Z)"
        for text, result in zip(self.texts, results, strict=True):
            is_kept = all(result.count(sign) == text.count(sign) for sign in "{}#")
            is_new = is_kept and result != text.replace("''", "'")
            new = re.sub(apostrophe, "''", result) if is_new else text
            written.append(_ARGUMENT.sub(syntax, new))
        return written[-1]


# A word with a mark, not part of a path, a name or an assignment.
_MARKED_WORD = re.compile(
    r"(?<![\w`.\\/@$%&~=-])([^\W\d_]*)([_&~])([^\W\d_]+)(?![\w&~/\\=(@]|[.:-]\w)"
)
# Two words, and names in programs such as file_name.
_COMPOUND = re.compile(
    r"^(?:black|copy|cut|drag|find|plug|rock|search)&"
    r"|^(?:data|file|first|last|max|min|my|num|user)_\w\w"
    r"|\w\w_(?:code|count|data|date|dir|file|id|key|length|list|name|path|size|time|type|url)$",
    re.IGNORECASE,
)


def _accelerator(message: Segment) -> int | None:
    """Return the index of the mark of a message's accelerator; None if it has none.

    ``file_name`` and ``AT&T`` have none: inside a word, a mark counts in short texts that begin
    with a capital letter and do not end as a sentence.
    """
    text = message.text if _MARKED_WORD.search(message.text) else ""
    shown = _without_spans(text, message.find)
    marks, label = re.findall(r"(?<!\s)[_&~]|[_&~](?!\s)", shown), shown.strip()
    is_label = len(label.split()) < 7 and not re.search(r"^[a-z]|(?<!\.)\.$", label)
    for match in _MARKED_WORD.finditer("" if "\n" in label else shown):
        word = match[1] + match[3]
        is_inside = is_label and len(word) > 2 and word[1:].islower()
        counts = (not match[1] or is_inside) and (label != match[0] or not word.islower())
        if counts and marks.count(match[2]) == 1 and not _COMPOUND.search(match[0]):
            return match.start(2)
    return None


def _with_accelerator(message: Segment, index: int, results: Sequence[str]) -> str:
    """Set the mark at an index of a message before a letter of its translation."""
    text, result = message.text, results[0]
    mark, letter = text[index], text[index + 1]
    shown = _without_spans(result, message.find)
    if result == text[:index] + text[index + 1 :] or re.search(rf"{mark}(?=[^\W_])", shown):
        return text
    # Chinese, Japanese and Korean have the letter after the text.
    patterns = (rf"(?<![^\W_]){letter}", letter, r"[^\W\d_\u2e80-\uffff]")
    matches = (re.search(pattern, shown, re.IGNORECASE) for pattern in patterns)
    if match := next(filter(None, matches), None):
        return result[: match.start()] + mark + result[match.start() :]
    return f"{result.rstrip()}({mark}{letter.upper()})"


def _without_spans(text: str, find: Finder) -> str:
    """Replace tags by spaces, and other spans by backticks, which continue a word."""
    found = find(text)
    tags = (span for span in found if span.kind in (Kind.OPEN, Kind.CLOSE, Kind.BREAK))
    return masked(masked(text, found), tags, " ")
