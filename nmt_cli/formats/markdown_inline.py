"""The inline markup of Markdown: what stays in a paragraph, and what separates its texts.

The library ``markdown-it-py`` finds CommonMark's markup. Further patterns find footnotes, wiki
links, formulas, placeholders and names that site generators and forges read.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, reference
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from nmt_cli.formats import spans
from nmt_cli.formats.spans import Finder, Kind, Span, masked, paired
from nmt_cli.text.kept import ADDRESSES, TEMPLATES, VARIABLES

# A line of a paragraph that is a command to a site generator: an alert, an admonition, a
# container, a template.
COMMAND_LINE = (
    r"(?:\[![A-Za-z]+\][+-]?|(?:!!!|\?\?\?\+?)[ \t][^\n]*|:{3,}[^\n]*|\{%[^\n]{0,999}%\}|\$\$)"
)

# The beginning of a line that is a text of its own: a footnote, an abbreviation, a definition.
DEFINITION = r"(?:\[\^[^\]\s]+\]:|\*\[[^\]\n]+\]:|:(?=[ \t]))[ \t]*"

# Nothing inside these is markup: 2*x*y in a formula is no emphasis.
_find_code = spans.spans_finder(
    marks=[r"(?<!\\)\^\[(?:[^\[\]]|\[[^\[\]]{0,200}\]){1,500}\]"],
    free=[
        spans.CODE_ELEMENT,
        r"(?<!\w)\w{1,3}<(?P<script>su[bp])>[\w+-]{1,8}</(?P=script)>\w{1,9}",  # H<sub>2</sub>O
        r"\$\$[^$]{1,2000}\$\$|(?<![\w$\\])\$[^$\s`](?:[^$\n`]{0,500}[^$\s\\`])?\$(?!\w)",
        r"\\begin\{(?P<environment>\w{1,20}\*?)\}.{0,2000}?\\end\{(?P=environment)\}",
        # Words in escaped parentheses are no formula.
        r"\\\\?\((?!(?:[^\W_]|[\s.,;:!?'\"-])*\\)[^\n]{1,500}?\\\\?\)",
        r"<<[^<>\n]{1,99}>>",
    ],
)
_find_in_text = spans.spans_finder(
    breaks=[rf"^{COMMAND_LINE}$", r"(?:(?<! ) {2,}|\\)?\n[ \t]*", *spans.CONTROL],
    marks=[r"\A\[[ xX]\](?=\s)", rf"^{DEFINITION}", r"\[\^[^\]\s]+\]", r"\{[:#.][^{}]*\}"],
    free=[
        r"!?\[\[[^\[\]\n|]{1,200}\]\]|!\[\[[^\[\]\n]{1,200}\]\]",
        *ADDRESSES,
        spans.ENTITY,
        *TEMPLATES,
        *VARIABLES,
        r"(?<![\w:]):(?:[a-z][a-z0-9_+-]*|[+-]1|\d+):(?![\w:])",
        r"(?<![\w@/.])@[A-Za-z0-9_](?:[\w/.-]*\w)?",
        r"(?<![\w/#&])(?:[\w.-]{1,64}/[\w.-]{1,64})?#\d+(?!\w)",
        r"(?<![\w\\])\w{0,64}(?:\\_\w{1,64}){1,64}",
    ],
    # A wiki link with a text: [[page|text]].
    opening=[r"(?<!!)\[\[[^\[\]\n|]{1,200}\|(?=[^\[\]\n]*\w[^\[\]\n]*\]\])"],
    closing=[r"\]\]"],
    fixed=[r"\\[!-/:-@\[-`{-~]", r"\[\[|\]\(|\^\["],  # and signs that look like links
)

_Rule = Callable[[StateInline, bool], bool]


def parser() -> MarkdownIt:
    """Make a parser of CommonMark with tables and strikethrough that notes inline positions."""
    # The preset's 20 levels are soon reached by a list in a list in a quote.
    markdown = MarkdownIt("commonmark", {"maxNesting": 60}).enable(["table", "strikethrough"])
    markdown.block.ruler.at("reference", _defined)
    ruler = markdown.inline.ruler
    for name, rule in zip(ruler.get_active_rules(), ruler.getRules(""), strict=True):
        ruler.at(name, _noting_positions(rule))
    return markdown


def _defined(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read a link definition; that of a footnote is text."""
    start = state.bMarks[first] + state.tShift[first]
    return not state.src.startswith("[^", start) and reference(state, first, last, silent)


def _noting_positions(rule: _Rule) -> _Rule:
    """Wrap a rule, so that the ``meta`` of its tokens has their positions in the text."""

    def run(state: StateInline, silent: bool) -> bool:
        start = token_start = state.pos
        first = len(state.tokens) + bool(state.pending)  # pending text becomes a token before
        if not rule(state, silent):
            return False
        new = [] if silent else state.tokens[first:]
        label_end = -1
        if new and new[0].type == "link_open" and new[0].info != "auto":
            label_end = state.md.helpers.parseLinkLabel(state, start, True)
        for token in new:
            # The text of a delimiter may become the markup of emphasis later.
            token.meta.setdefault("start", token_start if token.type == "text" else start)
            token.meta.setdefault("end", state.pos)
            token.meta.setdefault("label_end", label_end)
            token_start += len(token.content)
        return True

    return run


def inline_finder(markdown: MarkdownIt, references: Mapping[str, Any]) -> Finder:
    """Make a function that finds markup and other spans in the text of a paragraph.

    The references are the link definitions of the document, as markdown-it has them.
    """

    def find(text: str) -> list[Span]:
        tokens = markdown.parseInline(text, {"references": dict(references)})[0].children or []
        markup = _disjoint([*paired(text, list(_inline_spans(tokens, text))), *_find_code(text)])
        others = _find_in_text(masked(text, markup))
        found = _disjoint([*markup, *others])
        marks = (Span(*mark, Kind.MARK) for mark in spans.marks_of(text, found))
        return spans.separated(text, _disjoint([*found, *marks]))

    return find


def _disjoint(found: Iterable[Span]) -> list[Span]:
    """Return spans in order, without those that begin inside another."""
    disjoint: list[Span] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if not disjoint or disjoint[-1].end <= span.start:
            disjoint.append(span)
    return disjoint


def _inline_spans(tokens: Sequence[Token], text: str) -> Iterator[Span]:
    """Spans of inline tokens; HTML tags are FIXED."""
    whole: list[bool] = []  # for each open link, whether it is one span
    for token in tokens:
        name, _, side = token.type.rpartition("_")
        start, end, label_end = (token.meta.get(key, 0) for key in ("start", "end", "label_end"))
        if token.type == "code_inline":
            yield Span(start, end, Kind.FREE)
        elif token.type == "html_inline":
            is_break = re.fullmatch(spans.LINE_BREAK_TAG, text[start:end])
            yield Span(start, end, Kind.BREAK if is_break else Kind.FIXED)
        elif name in ("em", "s", "strong"):
            # The token of the inner one of two asterisks became that of both.
            start -= token.type == "strong_open"
            length = 1 if name == "em" else 2
            yield Span(start, start + length, Kind.OPEN if side == "open" else Kind.CLOSE)
        elif token.type == "link_close" and not whole.pop():
            yield Span(label_end, end, Kind.CLOSE)
        elif token.type == "image":
            yield Span(start, end, Kind.MARK)
        elif token.type == "link_open":
            # The text of [text] and [text][] is also the name of its definition.
            is_whole = token.info == "auto" or text[label_end:end] in ("]", "][]")
            whole.append(is_whole)
            yield Span(start, end, Kind.FREE) if is_whole else Span(start, start + 1, Kind.OPEN)
