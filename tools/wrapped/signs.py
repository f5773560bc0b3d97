"""Words, clauses and sentences in brackets and quotation marks, the same on both sides."""

import random
import re
from collections.abc import Sequence

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
    ("Leia a frase ", "Read the sentence "), ("Na carta, ela escreveu: ", "In the letter, she wrote: "),
)  # fmt: skip
QUOTES = ('""', '""', "“”", "“”", "«»", "''", "‘’")
SIGNS = BRACKETS + QUOTES + ("**",)
NAME = re.compile(r"[A-ZÀ-Ý][\w’-]*\w(?: [A-ZÀ-Ý][\w’-]*\w)*")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# Nothing that belongs to a name or a number is beside it.
ALONE_BEFORE = re.compile(r"(?:(?<=[a-zà-ý,;:] )|(?<=^))$")
ALONE_AFTER = re.compile(r"(?:[.,;:!?]?$|[,;:]? (?![A-ZÀ-Ý\d]))")


def signed(chance: random.Random, text: str, signs: str) -> str:
    """The text between two signs."""
    return f"{signs[0]}{text}{signs[1]}"


def between(pair: Pair, spans: tuple[Span, Span], signs: str) -> Pair:
    """The pair with a part of each side between signs."""
    source, target = (
        f"{text[:start]}{signs[0]}{text[start:end]}{signs[1]}{text[end:]}"
        for text, (start, end) in zip(pair, spans, strict=True)
    )
    return source, target


def shared(pair: Pair) -> list[tuple[Span, Span]]:
    """Where names and numbers are that both sides have, once and alone."""
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
    pair_signs = [(first, chance.choice(SIGNS))]
    others = [span for span in choices if _apart(span, first)]
    if others and chance.random() < 0.25:
        pair_signs.append((chance.choice(others), chance.choice(SIGNS)))
    source, target = pair
    for side in (0, 1):
        text = pair[side]
        for span, signs in sorted(pair_signs, key=lambda each: -each[0][side][0]):
            start, end = span[side]
            text = f"{text[:start]}{signs[0]}{text[start:end]}{signs[1]}{text[end:]}"
        source, target = (text, target) if side == 0 else (source, text)
    return source, target


def _apart(one: tuple[Span, Span], other: tuple[Span, Span]) -> bool:
    return all(a[1] < b[0] or b[1] < a[0] for a, b in zip(one, other, strict=True))


def clause(pair: Pair, lexicon: dict[str, str], chance: random.Random) -> Pair | None:
    """The second clause between signs, or the first in quotation marks."""
    starts = clauses(pair, lexicon)
    if starts is None:
        return None
    if chance.random() < 0.6:
        signs = chance.choice(BRACKETS)
        return _each(pair, starts, lambda a, b, end, _: f"{a} {signs[0]}{b}{signs[1]}{end}")
    signs = chance.choice(QUOTES)
    if chance.random() < 0.5:
        return _each(pair, starts, lambda a, b, end, mark: f"{a}{mark} {signs[0]}{b}{signs[1]}{end}")
    return _each(pair, starts, lambda a, b, end, mark: f"{signs[0]}{a}{signs[1]}{mark} {b}{end}")


def _each(pair, starts, form):  # type: ignore[no-untyped-def]
    source, target = (
        form(text[:start], text[start + 2 : -1], text[-1], text[start])
        for text, start in zip(pair, starts, strict=True)
    )
    return source, target


def after(pairs: Sequence[Pair], chance: random.Random) -> Pair:
    """A sentence, and after it another one between signs."""
    first, second = pairs[:2]
    form, signs = chance.random(), chance.choice(BRACKETS if chance.random() < 0.7 else QUOTES)
    if form < 0.4:  # One sentence, and another
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


SMALL = {
    *"o a os as um uma ele ela eles elas eu nós não isso isto este esta esse essa na no nos".split(),
    *"nas em de do da meu minha seu sua você vocês há quando onde quem por como que se para".split(),
    *"the an he she they we it this that these those my your his her our their you there".split(),
    *"i when where who why how what if in on at for don it is are".split(),
    *"do does did can could would will no not".split(),
}


def _both(pair, edit):  # type: ignore[no-untyped-def]
    return edit(pair[0]), edit(pair[1])


def _join(first, second, form):  # type: ignore[no-untyped-def]
    return form(first[0], second[0]), form(first[1], second[1])
