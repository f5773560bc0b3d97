"""Where the inline markup of Markdown stands; markdown-it says what it is, but not where."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nmt_cli.formats.kept import Finder, Kind, Span
from nmt_cli.formats.patterns import (
    ADDRESSES,
    CODE_ELEMENT,
    CONTROL,
    ENTITY,
    LINE_BREAK_TAG,
    TEMPLATES,
    VARIABLES,
    pair_tags,
    spans_finder,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# A line of a paragraph that is no prose but says something to a site generator, which wants
# it as it is: an alert, an admonition, a container, a template.
COMMAND_LINE = r"(?:\[![A-Za-z]+\][+-]?|(?:!!!|\?\?\?\+?)[ \t][^\n]*|:{3,}[^\n]*|\{%[^\n]*%\}|\$\$)"

# Whatever else is in these is theirs: 2*x*y in maths is no emphasis.
_find_code = spans_finder(
    free=[
        CODE_ELEMENT,
        r"\$\$[^$]{1,2000}\$\$|(?<![\w$\\])\$[^$\s`](?:[^$\n`]{0,500}[^$\s\\`])?\$(?!\w)",
    ]
)
_find_in_text = spans_finder(
    breaks=[rf"^{COMMAND_LINE}$", r"(?: {2,}|\\)?\n[ \t]*", *CONTROL],
    marks=[r"\A\[[ xX]\](?=\s)", r"\A\[\^[^\]\s]+\]:", r"\{[:#.][^{}]*\}", r"^:[ \t]+"],
    free=[
        r"\[\^[^\]\s]+\]",
        *ADDRESSES,
        ENTITY,
        *TEMPLATES,
        *VARIABLES,
        r"(?<![\w:]):[a-z][a-z0-9_+-]*:(?![\w:])",
        r"(?<![\w\\])\w{0,64}(?:\\_\w{1,64}){1,64}",
    ],
    fixed=[r"\\[!-/:-@\[-`{-~]"],
)


def parser() -> "MarkdownIt":
    """A parser of CommonMark with tables and strikethrough that notes where inline tokens stand."""
    from markdown_it import MarkdownIt, rules_inline

    # Deeper than the 20 of the preset, which a list in a list in a quote soon reaches.
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
        markdown.inline.ruler.at(name, _noting_places(rule))
    return markdown


Rule = Callable[["StateInline", bool], bool]


def _noting_places(rule: Rule) -> Rule:
    """A rule that puts into its tokens' ``meta`` where in the text they stand."""

    def run(state: "StateInline", silent: bool) -> bool:
        if silent:
            return rule(state, silent)
        start = at = state.pos
        # Text before it becomes a token first.
        first = len(state.tokens) + bool(state.pending)
        if not rule(state, silent):
            return False
        new = state.tokens[first:]
        label_end = -1
        if new and new[0].type in ("link_open", "image") and new[0].info != "auto":
            is_image = new[0].type == "image"
            label_end = state.md.helpers.parseLinkLabel(state, start + is_image, not is_image)
        for token in new:
            # What is text still, a delimiter, may become the markup of emphasis later.
            token.meta.setdefault("at", at if token.type == "text" else start)
            token.meta.setdefault("end", state.pos)
            token.meta.setdefault("label_end", label_end)
            at += len(token.content)
        return True

    return run


def inline_finder(markdown: "MarkdownIt", references: Mapping[str, Any]) -> Finder:
    """What finds the markup and other spans in the text of a paragraph.

    Args:
        markdown: from :func:`parser`.
        references: link definitions of the document, as markdown-it has them.
    """

    def find(text: str) -> list[Span]:
        tokens = markdown.parseInline(text, {"references": dict(references)})[0].children or []
        spans = list(_markup(tokens, text, 0))
        tags = [(each.start, each.end) for each in spans if each.kind is Kind.FIXED]
        spans = [each for each in spans if each.kind is not Kind.FIXED]
        spans += [*pair_tags(text, tags), *_find_code(text)]
        return _with_text_spans(text, _outermost(spans))

    return find


_DELIMITERS = {"em": (0, 1), "s": (0, 2)}


def _markup(tokens: Sequence["Token"], text: str, offset: int) -> Iterator[Span]:
    """Spans of inline tokens; HTML tags are FIXED. A link kept whole is not looked into."""
    whole: list[bool] = []
    for token in tokens:
        name, _, side = token.type.rpartition("_")
        at = token.meta.get("at", 0) + offset
        end = token.meta.get("end", 0) + offset
        label_end = token.meta.get("label_end", 0) + offset
        if token.type == "code_inline":
            yield Span(at, end, Kind.FREE)
        elif token.type == "html_inline":
            is_break = _is_break(text[at:end])
            yield Span(at, end, Kind.BREAK if is_break else Kind.FIXED)
        elif name in ("em", "s", "strong"):
            if name == "strong":
                # The token of the inner one of two delimiters became that of both.
                shift = -1 if side == "open" else 0
                at, length = at + shift, 2
            else:
                length = _DELIMITERS[name][1]
            yield Span(at, at + length, Kind.OPEN if side == "open" else Kind.CLOSE)
        elif token.type == "image":
            if text[label_end:end] in ("]", "][]"):
                yield Span(at, end, Kind.FREE)
                continue
            yield Span(at, at + 2, Kind.OPEN)
            yield from _markup(token.children or [], text, at + 2)
            yield Span(label_end, end, Kind.CLOSE)
        elif token.type == "link_open":
            # The text of [text] and [text][] is also the name of its definition.
            whole.append(token.info == "auto" or text[label_end:end] in ("]", "][]"))
            yield Span(at, end, Kind.FREE) if whole[-1] else Span(at, at + 1, Kind.OPEN)
        elif token.type == "link_close" and not whole.pop():
            yield Span(label_end, end, Kind.CLOSE)


_find_break_tag = spans_finder(breaks=[LINE_BREAK_TAG])


def _is_break(tag: str) -> bool:
    return bool(_find_break_tag(tag))


def _outermost(spans: Sequence[Span]) -> list[Span]:
    """Spans in order, without those that lie in another or overlap with one before."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if not result or result[-1].end <= span.start:
            result.append(span)
    return result


def _with_text_spans(text: str, spans: Sequence[Span]) -> list[Span]:
    """With what is found in the text outside of ``spans``."""
    masked = list(text)
    for span in spans:
        # Unlike a space, it parts no words; unlike a letter, no address goes on over it.
        masked[span.start : span.end] = "`" * (span.end - span.start)
    result = list(spans)
    at = 0
    for found in _find_in_text("".join(masked)):
        while at < len(spans) and spans[at].end <= found.start:
            at += 1
        if at == len(spans) or found.end <= spans[at].start:
            result.append(found)
    return sorted(result, key=lambda each: each.start)
