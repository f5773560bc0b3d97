"""Find inline markup in Markdown: markdown-it knows what it is, but not where."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nmt_cli.formats import patterns
from nmt_cli.formats.segments import Finder, Kind, Span, masked

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# A line of a paragraph that is a command to a site generator: an alert, an admonition, a
# container, a template.
COMMAND_LINE = r"(?:\[![A-Za-z]+\][+-]?|(?:!!!|\?\?\?\+?)[ \t][^\n]*|:{3,}[^\n]*|\{%[^\n]*%\}|\$\$)"

# Nothing inside these is markup: 2*x*y in a formula is no emphasis.
_find_code = patterns.spans_finder(
    free=[
        patterns.CODE_ELEMENT,
        r"\$\$[^$]{1,2000}\$\$|(?<![\w$\\])\$[^$\s`](?:[^$\n`]{0,500}[^$\s\\`])?\$(?!\w)",
    ]
)
_find_in_text = patterns.spans_finder(
    breaks=[rf"^{COMMAND_LINE}$", r"(?: {2,}|\\)?\n[ \t]*", *patterns.CONTROL],
    marks=[r"\A\[[ xX]\](?=\s)", r"\A\[\^[^\]\s]+\]:", r"\{[:#.][^{}]*\}", r"^:[ \t]+"],
    free=[
        r"\[\^[^\]\s]+\]",
        *patterns.ADDRESSES,
        patterns.ENTITY,
        *patterns.TEMPLATES,
        *patterns.VARIABLES,
        r"(?<![\w:]):[a-z][a-z0-9_+-]*:(?![\w:])",
        r"(?<![\w\\])\w{0,64}(?:\\_\w{1,64}){1,64}",
    ],
    fixed=[r"\\[!-/:-@\[-`{-~]"],
)

Rule = Callable[["StateInline", bool], bool]


def parser() -> "MarkdownIt":
    """Make a parser of CommonMark with tables and strikethrough that notes inline positions."""
    from markdown_it import MarkdownIt, rules_inline

    # The preset's 20 levels are soon reached by a list in a list in a quote.
    markdown = MarkdownIt("commonmark", {"maxNesting": 60}).enable(["table", "strikethrough"])
    for name, rule in (
        ("backticks", rules_inline.backtick),
        ("strikethrough", rules_inline.strikethrough.tokenize),
        ("emphasis", rules_inline.emphasis.tokenize),
        ("link", rules_inline.link),
        ("image", rules_inline.image),
        ("autolink", rules_inline.autolink),
        ("html_inline", rules_inline.html_inline),
    ):
        markdown.inline.ruler.at(name, _noting_positions(rule))
    return markdown


def _noting_positions(rule: Rule) -> Rule:
    """Wrap a rule, so that the ``meta`` of its tokens says where they are in the text."""

    def run(state: "StateInline", silent: bool) -> bool:
        start = at = state.pos
        first = len(state.tokens) + bool(state.pending)  # pending text becomes a token before
        if not rule(state, silent):
            return False
        new = [] if silent else state.tokens[first:]
        label_end = -1
        if new and new[0].type in ("link_open", "image") and new[0].info != "auto":
            is_image = new[0].type == "image"
            label_end = state.md.helpers.parseLinkLabel(state, start + is_image, not is_image)
        for token in new:
            # The text of a delimiter may become the markup of emphasis later.
            token.meta.setdefault("at", at if token.type == "text" else start)
            token.meta.setdefault("end", state.pos)
            token.meta.setdefault("label_end", label_end)
            at += len(token.content)
        return True

    return run


def inline_finder(markdown: "MarkdownIt", references: Mapping[str, Any]) -> Finder:
    """Make a function that finds markup and other spans in the text of a paragraph.

    The references are the link definitions of the document, as markdown-it has them.
    """

    def find(text: str) -> list[Span]:
        tokens = markdown.parseInline(text, {"references": dict(references)})[0].children or []
        markup = list(_markup(tokens, text, 0))
        tags = [(each.start, each.end) for each in markup if each.kind is Kind.FIXED]
        found = [each for each in markup if each.kind is not Kind.FIXED]
        found += [*patterns.pair_tags(text, tags), *_find_code(text)]
        spans: list[Span] = []
        for span in sorted(found, key=lambda each: (each.start, -each.end)):
            if not spans or spans[-1].end <= span.start:
                spans.append(span)
        covered = {at for span in spans for at in range(span.start, span.end)}
        for span in _find_in_text(masked(text, spans)):
            if covered.isdisjoint(range(span.start, span.end)):
                spans.append(span)
        return sorted(spans, key=lambda each: each.start)

    return find


def _markup(tokens: Sequence["Token"], text: str, offset: int) -> Iterator[Span]:
    """Spans of inline tokens; HTML tags are FIXED."""
    whole: list[bool] = []  # for each open link, whether it is one span
    for token in tokens:
        name, _, side = token.type.rpartition("_")
        at, end, label_end = (token.meta.get(key, 0) + offset for key in ("at", "end", "label_end"))
        if token.type == "code_inline":
            yield Span(at, end, Kind.FREE)
        elif token.type == "html_inline":
            is_break = re.fullmatch(patterns.LINE_BREAK_TAG, text[at:end])
            yield Span(at, end, Kind.BREAK if is_break else Kind.FIXED)
        elif name in ("em", "s", "strong"):
            # The token of the inner one of two asterisks became that of both.
            at -= token.type == "strong_open"
            length = 1 if name == "em" else 2
            yield Span(at, at + length, Kind.OPEN if side == "open" else Kind.CLOSE)
        elif token.type == "link_close" and not whole.pop():
            yield Span(label_end, end, Kind.CLOSE)
        elif token.type in ("image", "link_open"):
            is_image = token.type == "image"
            # The text of [text] and [text][] is also the name of its definition.
            is_whole = token.info == "auto" or text[label_end:end] in ("]", "][]")
            yield Span(at, end, Kind.FREE) if is_whole else Span(at, at + 1 + is_image, Kind.OPEN)
            if not is_image:
                whole.append(is_whole)
            elif not is_whole:
                yield from _markup(token.children or [], text, at + 2)
                yield Span(label_end, end, Kind.CLOSE)
