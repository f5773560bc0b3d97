"""The messages that users see: exceptions, and where other messages go."""

from collections.abc import Callable

# Receives messages: progress or warnings.
Say = Callable[[str], None]


def silent(message: str) -> None:
    """Drop a message."""


class NmtError(Exception):
    """A failure that the user can understand and fix.

    Args:
        message: what is wrong and where (file, line, key), without a final full stop.
        hint: how to fix it; printed after the message on the same line.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message = message
        self.hint = hint


class OptionError(NmtError):
    """Options that are out of range or contradict each other.

    Option names appear in back quotes, as in ``n_best=4``; the command line shows --n-best 4.
    """


def first_line(error: Exception) -> str:
    """Return the first line of another library's message, or the type's name if there is none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
