"""Drop malformed, repeated and suspicious pairs: python -m tools.phrases.clean IN.tsv... > OUT.tsv.

The inputs have lines of English, a tab, and Portuguese, as their authors wrote them; the output has
Portuguese first, as the other files of this folder, and American spelling. What is dropped is
counted on stderr, by reason; with --show, it is listed, too.
"""

import argparse
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.text.lines import read_lines
from tools.phrasebook.entries import Gender
from tools.phrasebook.numbers import english_ordinal, spelt
from tools.phrases.american import american

Pair = tuple[str, str]

# A text has at most 128 tokens, of three to four characters each.
MAX_CHARACTERS = 450
# Of the lengths of the sides in characters, where the longer one has more than SHORT.
MAX_RATIO, SHORT = 1.8, 25
END = re.compile(r"[.!?…:;,][\"”’'»)\]]*$")
# Letters and signs that neither language has.
FOREIGN = re.compile(r"[^\x20-\x7eÀ-ɏḀ-ỿ“”‘’ʻ«»–—…ºª°§€£²³½¼¾±−′″·¿¡]")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
CLOCK = re.compile(r"\b(\d{1,2})(?:[:.](\d\d))? ?([ap])\.?m\b\.?", re.IGNORECASE)
HOURS = re.compile(r"\b(\d{1,2}) ?(?:h|min) ?(\d\d)?(?:min)?\b")
THOUSANDS = re.compile(r"(\d+(?:,\d+)?) mil\b")
ROMAN = re.compile(r"\b[IVXLC]+\b")
DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def fault(pair: Pair) -> str | None:
    """Why a pair, Portuguese first, must not be used; None if nothing is suspicious."""
    lengths = sorted(map(len, pair))
    if not lengths[0]:
        return "empty"
    if any(side != " ".join(side.split()) for side in pair):
        return "spaces"
    if pair[0] == pair[1]:
        return "same text on both sides"
    if lengths[1] > MAX_CHARACTERS:
        return "too long"
    if lengths[1] > max(SHORT, MAX_RATIO * lengths[0]):
        return "different lengths"
    if len({END.search(side) is None for side in pair}) == 2:
        return "final punctuation on one side"
    if any(FOREIGN.search(side) for side in pair):
        return "foreign characters"
    if not same_numbers(pair):
        return "different numbers"
    return None


def same_numbers(pair: Pair) -> bool:
    """Whether both sides have the same numbers, in digits, Roman numerals or words."""
    portuguese, english = _portuguese(pair[0]), _english(pair[1])
    return all(_otherwise(value, pair[1], 1) for value in portuguese - english) and all(
        _otherwise(value, pair[0], 0) for value in english - portuguese
    )


def _portuguese(text: str) -> Counter[str]:
    text = HOURS.sub(lambda match: f"{match[1]} {match[2] or ''}", text)
    text = THOUSANDS.sub(lambda match: str(round(float(match[1].replace(",", ".")) * 1000)), text)
    return Counter(
        _value(match[0].translate(str.maketrans(".,", ",."))) for match in NUMBER.finditer(text)
    )


def _english(text: str) -> Counter[str]:
    def hours(match: re.Match[str]) -> str:
        hour = int(match[1]) % 12 + 12 * (match[3].lower() == "p")
        return f"{hour} {match[2] or ''}"

    return Counter(_value(match[0]) for match in NUMBER.finditer(CLOCK.sub(hours, text)))


def _value(english: str) -> str:
    """A number without separators of thousands and needless zeros."""
    whole, _, decimals = english.replace(",", "").partition(".")
    return f"{int(whole)}" + (f".{decimals}" if decimals.strip("0") else "")


def _otherwise(value: str, text: str, side: int) -> bool:
    """Whether a number is in a text (of side 1: English) in another way than in digits."""
    words = re.findall(r"\w+(?:-\w+)*", text.lower().replace("-year-old", " "))
    if not value.isdigit():
        return value == "0.5" and ("half" in words or "meio" in words or "meia" in words)
    number = int(value)
    if number in (_roman(match[0]) for match in ROMAN.finditer(text)):
        return True
    if number == 0:
        return not {"zero", "00", "midnight", "meia-noite"}.isdisjoint(words)
    if number >= 1000:
        shorter = number % 10 == 0 and f"{number % 100:02}" in words  # "1980s" and "anos 80"
        whole = number % 1000 == 0 and _otherwise(str(number // 1000), text, side)
        return shorter or (whole and ("mil" in words or "thousand" in words))
    if number % 10 == 0 and re.search(rf"\b\d\d{number:02}s", text):  # "anos 80" and "1980s"
        return True
    forms = [spelt(number), spelt(number, Gender.FEMININE)]
    spellings = [form.en if side else form.pt for form in forms]
    if side and number < 100:
        spellings.append(english_ordinal(number))
    joined = f" {' '.join(words)} "
    return any(f" {spelling} " in joined for spelling in spellings)


def _roman(numeral: str) -> int:
    values = [DIGITS[letter] for letter in numeral]
    return sum(
        -value if value < following else value
        for value, following in zip(values, [*values[1:], 0], strict=True)
    )


def cleaned(rows: Iterable[str], dropped: list[tuple[str, str]] | None = None) -> Iterator[Pair]:
    """The pairs of lines, Portuguese first, that have no fault and no side that was there before.

    What is dropped is added to `dropped`, with the reason.
    """
    dropped = [] if dropped is None else dropped
    seen: set[str] = set()
    for row in rows:
        columns = [unicodedata.normalize("NFC", column) for column in row.split("\t")]
        if len(columns) != 2:
            dropped.append(("not two columns", row))
            continue
        pair = columns[1], american(columns[0])
        keys = {f"{side}{_key(text)}" for side, text in enumerate(pair)}
        reason = fault(pair) or ("repeated" if keys & seen else None)
        if reason:
            dropped.append((reason, row))
        else:
            seen |= keys
            yield pair


def _key(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def main() -> None:
    """Clean the files that the arguments name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("inputs", nargs="+", type=Path, metavar="IN.tsv")
    parser.add_argument("--show", action="store_true", help="List what is dropped, too.")
    arguments = parser.parse_args()
    dropped: list[tuple[str, str]] = []
    try:
        rows = [row for path in arguments.inputs for row in read_lines(path)]
    except NmtError as error:
        sys.exit(f"error: {error}")
    for pair in cleaned(rows, dropped):
        print(*pair, sep="\t")
    for reason, count in Counter(reason for reason, _ in dropped).most_common():
        print(f"{reason}: {count}", file=sys.stderr)
    if arguments.show:
        print(*(f"{reason}\t{row}" for reason, row in dropped), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
