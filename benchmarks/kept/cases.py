"""What a family is made of, and the list of families."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

DIRECTIONS = ("pt-en", "en-pt")


@dataclass(frozen=True)
class Case:
    """A small file and what its translation must keep.

    Attributes:
        direction: "pt-en" or "en-pt".
        format: as of `nmt translate`, or text, jsonl or csv.
        source: the whole file.
        bare: the sentences in it, without what the family adds to them.
        keep: strings that must be in the output.
        gone: strings that must not.
        same: whether the output must be the translation of `bare`, but for invisible characters.
        seconds: the time that its translation may take; None for no limit.
        check: yields what else is wrong with an output.
        read: returns a file as HTML, in which the output is checked then.
        shown: the source as HTML.
    """

    direction: str
    format: str
    source: str | bytes
    bare: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    same: bool = False
    seconds: float | None = None
    check: Callable[[str], Iterator[str]] | None = None
    read: Callable[[bytes], str] | None = None
    shown: str = ""


Family = Callable[[random.Random], Iterator[Case]]
FAMILIES: dict[str, Family] = {}


def family(function: Family) -> Family:
    """Add a generator of inputs to the families, by its name."""
    FAMILIES[function.__name__.replace("_", "-")] = function
    return function


def cases_of(name: str) -> list[Case]:
    """The inputs of a family."""
    return list(FAMILIES[name](random.Random(name)))


def po(messages: list[str]) -> str:
    """A PO file with these messages, none of them translated."""
    quoted = (json.dumps(message, ensure_ascii=False) for message in messages)
    entries = (f'msgid {text}\nmsgstr ""\n' for text in quoted)
    header = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    return "\n".join([header, *entries])


def srt(cues: list[str]) -> str:
    """An SRT file with these cues, one second each."""
    return "".join(
        f"{number}\n00:00:{number:02},000 --> 00:00:{number:02},900\n{cue}\n\n"
        for number, cue in enumerate(cues, start=1)
    )
