"""Words, clauses and sentences in brackets and quotation marks, the same on both sides."""

import random
import re
from collections.abc import Callable, Sequence

from tools.wrapped.sources import Pair
from tools.wrapped.words import Span, clauses, parts

BRACKETS = ("()", "()", "()", "[]")
# Before what is between quotation marks.
INTRODUCTIONS = (
    ("Ele disse: ", "He said: "), ("Ela perguntou: ", "She asked: "),
    ("A placa dizia: ", "The sign said: "), ("Está escrito: ", "It says: "),
    ("A mensagem é ", "The message is "), ("Ele só respondeu ", "He only replied "),
    ("Traduza: ", "Translate: "), ("Exemplo: ", "Example: "), ("Nota: ", "Note: "),
    ("O cartaz diz ", "The poster says "), ("Como diz o ditado: ", "As the saying goes: "),
    ("Leia a frase ", "Read the sentence "),
    ("Na carta, ela escreveu: ", "In the letter, she wrote: "),
)  # fmt: skip
QUOTES = ('""', '""', "“”", "“”", "«»", "''", "‘’")
# Words that are written small where they are not the first of a sentence.
_SMALL = """
o a os as um uma ele ela eles elas eu nós não isso isto este esta esse essa na no nos nas em de do
da meu minha seu sua você vocês há quando onde quem por como que se para
the an he she they we it this that these those my your his her our their you there i when where who
why how what if in on at for don is are do does did can could would will not
"""
SMALL = set(_SMALL.split())
SIGNS = BRACKETS + QUOTES + ("**",)
NAME = re.compile(r"[A-ZÀ-Ý][\w’-]*\w(?: [A-ZÀ-Ý][\w’-]*\w)*")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# Nothing that belongs to a name or a number is beside it.
ALONE_BEFORE = re.compile(r"(?:(?<=[a-zà-ý,;:] )|(?<=^))$")
ALONE_AFTER = re.compile(r"(?:[.,;:!?]?$|[,;:]? (?![A-ZÀ-Ý\d]))")


def shared(pair: Pair) -> list[tuple[Span, Span]]:
    """Where the names and numbers are that occur once in each side, and stand apart from others."""
    spans: list[dict[str, list[Span]]] = [{}, {}]
    for side, text in enumerate(pair):
        for match in (*NAME.finditer(text), *NUMBER.finditer(text)):
            spans[side].setdefault(match[0], []).append(match.span())
    return [
        (places[0], spans[1][name][0])
        for name, places in spans[0].items()
        if len(places) == 1
        and len(spans[1].get(name, ())) == 1
        and all(text.count(name) == 1 for text in pair)
        and _alone(pair[0], places[0])
        and _alone(pair[1], spans[1][name][0])
    ]


def _alone(text: str, span: Span) -> bool:
    before, after = text[: span[0]], text[span[1] :]
    return bool(ALONE_BEFORE.search(before) and before and ALONE_AFTER.match(after))


def whole(pair: Pair, chance: random.Random) -> Pair:
    """The whole sentence between signs, its final punctuation inside, outside or not at all."""
    signs, form = chance.choice(SIGNS), chance.random()
    if form < 0.25:
        quotes, start = chance.choice(QUOTES), chance.choice(INTRODUCTIONS)
        source, target = (f"{start[side]}{quotes[0]}{pair[side]}{quotes[1]}" for side in (0, 1))
        return source, target
    if form < 0.6 or pair[0][-1] != ".":
        return _both(pair, lambda side: f"{signs[0]}{side}{signs[1]}")
    if form < 0.8:
        return _both(pair, lambda side: f"{signs[0]}{side[:-1]}{signs[1]}{side[-1]}")
    return _both(pair, lambda side: f"{signs[0]}{side[:-1]}{signs[1]}")


def inside(pair: Pair, lexicon: dict[str, str], chance: random.Random) -> Pair | None:
    """Words, a name or a number between signs; sometimes two of them."""
    spans = shared(pair)
    words = [span for span in parts(pair, lexicon) if span[0] != (0, len(pair[0]))]
    choices = spans + words
    if not choices:
        return None
    first = chance.choice(spans) if spans and chance.random() < 0.4 else chance.choice(choices)
    chosen = [(first, chance.choice(SIGNS))]
    others = [span for span in choices if _apart(span, first)]
    if others and chance.random() < 0.25:
        chosen.append((chance.choice(others), chance.choice(SIGNS)))
    source, target = (
        _between(text, [(span[side], signs) for span, signs in chosen])
        for side, text in enumerate(pair)
    )
    return source, target


def _between(text: str, spans: list[tuple[Span, str]]) -> str:
    """The text with signs around some of its parts."""
    for (start, end), signs in sorted(spans, reverse=True):
        text = f"{text[:start]}{signs[0]}{text[start:end]}{signs[1]}{text[end:]}"
    return text


def _apart(one: tuple[Span, Span], other: tuple[Span, Span]) -> bool:
    return all(a[1] < b[0] or b[1] < a[0] for a, b in zip(one, other, strict=True))


def clause(pair: Pair, lexicon: dict[str, str], chance: random.Random) -> Pair | None:
    """The second clause between signs, or the first in quotation marks."""
    starts = clauses(pair, lexicon)
    if starts is None:
        return None
    form = "{a} ({b}){end}" if chance.random() < 0.75 else "{a} [{b}]{end}"
    if chance.random() < 0.4:
        form = chance.choice(
            ("{a}{mark} {opened}{b}{closed}{end}", "{opened}{a}{closed}{mark} {b}{end}")
        )
    quotes = chance.choice(QUOTES)
    source, target = (
        form.format(
            a=text[:start],
            b=text[start + 2 : -1],
            end=text[-1],
            mark=text[start],
            opened=quotes[0],
            closed=quotes[1],
        )
        for text, start in zip(pair, starts, strict=True)
    )
    return source, target


def after(pairs: Sequence[Pair], chance: random.Random) -> Pair:
    """A sentence, and after it another one between signs."""
    first, second = pairs[:2]
    form, signs = chance.random(), chance.choice(BRACKETS if chance.random() < 0.7 else QUOTES)
    if form < 0.4:
        return _join(first, second, lambda a, b: f"{a} {signs[0]}{b}{signs[1]}")
    if form < 0.7:
        small = _small(second)
        return _join(
            first, small, lambda a, b: f"{a[:-1]} {signs[0]}{b.removesuffix('.')}{signs[1]}{a[-1]}"
        )
    if form < 0.85:
        quotes = chance.choice(QUOTES)
        return _join(first, second, lambda a, b: f"{a[:-1]}: {quotes[0]}{b}{quotes[1]}")
    return _join(first, second, lambda a, b: f"{signs[0]}{a}{signs[1]} {b}")


def listed(pairs: Sequence[Pair], chance: random.Random) -> Pair:
    """Two to four short texts, each between signs, in one line."""
    signs = chance.choice(SIGNS)
    bare = [(pair[0].removesuffix("."), pair[1].removesuffix(".")) for pair in pairs]
    items = [[f"{signs[0]}{side}{signs[1]}" for side in pair] for pair in bare]
    if len(items) == 1:
        return items[0][0], items[0][1]
    form = chance.random()
    if form < 0.35:
        links = (" e ", " and ") if chance.random() < 0.6 else (" ou ", " or ")
        source, target = (
            ", ".join(item[side] for item in items[:-1]) + links[side] + items[-1][side]
            for side in (0, 1)
        )
        return source, target
    if form < 0.7:
        separator = chance.choice((", ", "; ", " ", " - ", " / "))
        return separator.join(i[0] for i in items), separator.join(i[1] for i in items)
    mixed = [chance.choice(SIGNS) if chance.random() < 0.7 else None for _ in pairs]
    source, target = (
        " ".join(
            f"{kind[0]}{pair[side]}{kind[1]}" if kind else pair[side]
            for pair, kind in zip(pairs, mixed, strict=True)
        )
        for side in (0, 1)
    )
    return source, target


def _small(pair: Pair) -> Pair:
    """Without the capitals of the first words, if these are usual words on both sides."""
    usual = [re.split(r"[ ,.!?'’]", side)[0].lower() in SMALL for side in pair]
    if not all(usual):
        return pair
    source, target = (
        side if re.match(r"I\b", side) else side[0].lower() + side[1:] for side in pair
    )
    return source, target


def _both(pair: Pair, edit: Callable[[str], str]) -> Pair:
    return edit(pair[0]), edit(pair[1])


def _join(first: Pair, second: Pair, form: Callable[[str, str], str]) -> Pair:
    return form(first[0], second[0]), form(first[1], second[1])
