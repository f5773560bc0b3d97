"""Spans of text that must survive translation."""

from dataclasses import dataclass
from enum import Enum, auto

Place = tuple[int, int]


class Kind(Enum):
    """How a span may move, and whether the model sees it."""

    FREE = auto()  # may move: a named placeholder, an address, code
    FIXED = auto()  # keeps its order among all spans that are not free: an unnamed %s
    MARK = auto()  # fixed; hidden from the model at the edge of a segment
    OPEN = auto()  # fixed; begins a pair; a pair that encloses a segment is hidden
    CLOSE = auto()  # fixed; ends a pair
    BREAK = auto()  # fixed; the text before and after it is translated separately


@dataclass(frozen=True)
class Span:
    """The part ``text[start:end]`` that must survive."""

    start: int
    end: int
    kind: Kind
