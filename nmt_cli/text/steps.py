"""The steps of the text path: what the model reads instead of parts of a text.

A step adds edits of the text, pairs of signs to put around the words of the translation, and edits
of the translation. Items, which the translation must contain, are no step's business.
"""

import re
from collections.abc import Callable
from itertools import groupby

from nmt_cli.text.reading import ANY_SIGN, OPENING_SIGN, SIGNS, WORD, Pair, Reading

Step = Callable[[Reading], None]

# Shorter words in capitals are as likely to be abbreviations.
_MIN_LETTERS = 4


def fold_capitals(reading: Reading) -> None:
    """Read a text in capitals as a sentence, and write its translation in capitals."""
    if not (reading.items or reading.text.isupper()):
        return
    words = reading.words
    if not any(len(word[0]) >= _MIN_LETTERS for word in words):
        return
    if all(word[0].isupper() for word in words):
        reading.capitals = True
        first, *others = words
        reading.edits.append((*first.span(), first[0][0] + first[0][1:].lower()))
        reading.edits += [(*word.span(), word[0].lower()) for word in others]


def fold_words(reading: Reading) -> None:
    """Read words in capitals among others in lower case; their translations are in capitals."""
    if reading.capitals or not reading.aligns:
        return
    for is_upper, words in groupby(reading.words, lambda word: word[0].isupper()):
        run = list(words)
        if is_upper and any(len(word[0]) >= _MIN_LETTERS for word in run):
            # Single letters at the edges belong to the sentence around the run.
            long = [number for number, word in enumerate(run) if len(word[0]) > 1]
            run = run[long[0] : long[-1] + 1]
            reading.edits += [(*word.span(), word[0].lower()) for word in run]
            reading.pairs.append(Pair(run[0].start(), run[-1].end()))


_OPENING = re.compile(rf"{OPENING_SIGN}{{1,3}}(?=[^\W\d_])")
# Longer parts in brackets are no part of the sentence around them.
_MAX_WORDS = 4
_SPACE_AFTER_SIGN = re.compile(rf"(?<![\w{ANY_SIGN}])([{ANY_SIGN}]+) (?=\w)")


def set_off_signs(reading: Reading) -> None:
    """Let the model read words after an opening sign as it reads others, after a space.

    Tokenizers make other tokens of them, which the model may not know. If few words are enclosed,
    the model does not read the signs, and they are put around the translations of the words.
    """
    text, is_set_off = reading.text, False
    for match in _OPENING.finditer(text):
        start, word = match.start(), WORD.match(text, match.end())
        if not word or not reading.is_free(*match.span()):
            continue
        closing = "".join(SIGNS[sign] for sign in reversed(match[0]))
        close = text.find(closing, match.end())
        end = close + len(closing)
        is_closed = close > 0 and not text[close - 1].isspace() and reading.is_free(close, end)
        is_short = len(text[match.end() : close].split()) <= _MAX_WORDS
        before, after = text[start - 1 : start], text[end : end + 1]
        is_joined = before in SIGNS.values() or after.isalnum() or after in SIGNS
        if reading.aligns and is_closed and is_short and not is_joined:
            reading.pairs.append(Pair(start, end, match[0], closing))
            reading.edits += [(*match.span(), ""), (close, end, "")]
            continue
        joined, apart = reading.tokens(match[0] + word[0], f"{match[0]} {word[0]}")
        if joined > apart:
            reading.edits.append((match.end(), match.end(), " "))
            is_set_off = True
    if is_set_off:
        reading.after.append(lambda text: text.substituted(_SPACE_AFTER_SIGN, r"\1"))


_SLASH = re.compile(r"(?<=[^\W\d_]{3})/(?=[^\W\d_]{3})")
_SPACED_SLASH = re.compile(r"(?<=\w) / (?=\w)")


def set_off_slashes(reading: Reading) -> None:
    """Let the model read words around a slash as it reads others."""
    slashes = [match.start() for match in _SLASH.finditer(reading.text)]
    slashes = [start for start in slashes if reading.is_free(start, start + 1)]
    if slashes:
        reading.edits += [(start, start + 1, " / ") for start in slashes]
        reading.after.append(lambda text: text.substituted(_SPACED_SLASH, "/"))


_ELLIPSIS = re.compile(r"\.{2,}|…")
_LAST_STOPS = re.compile(r"(?<![.…])[.…]*\Z")
_ELLIPSES = re.compile(r"\s?(?:\.{2,}|…)(?:\s?(?:\.+|…)(?!\w))*")


def keep_ellipses(reading: Reading) -> None:
    """Write ellipses as the text does, whatever number of full stops the model writes."""
    signs = _ELLIPSIS.findall(reading.text)
    if not signs:
        return
    sign = "…" if "…" in signs else signs[0]
    reading.after.append(lambda text: text.substituted(_ELLIPSES, sign))
    if reading.text.endswith((".", "…")) and _ELLIPSIS.search(reading.text[-2:]):
        reading.after.append(lambda text: text.substituted(_LAST_STOPS, sign))


_MAX_LABEL = 5  # words
_SENTENCE = re.compile(r"[.?!…]\W*\Z")
_FIRST = re.compile(r"\A\W*\w")


def fold_labels(reading: Reading) -> None:
    """Read the words of a label in lower case that are one token only then."""
    words = reading.words
    is_upper = all(word[0].isupper() for word in words)
    reading.capitals |= is_upper and any(len(word[0]) > 1 for word in words)
    is_title = bool(words) and words[0][0].istitle() and not _SENTENCE.search(reading.text)
    if not 0 < len(words) <= _MAX_LABEL or not (is_title or reading.capitals):
        return
    for word in words:
        capitalized, lower = reading.tokens(word[0].title(), word[0].lower())
        if word[0].istitle() and lower == 1 < capitalized:
            reading.edits.append((*word.span(), word[0].lower()))
    if reading.capitals:
        reading.edits = [(*word.span(), word[0].lower()) for word in words]
    reading.after.append(
        lambda text: text.replaced(
            (*first.span(), first[0].upper()) for first in _FIRST.finditer(text.text)
        )
    )
