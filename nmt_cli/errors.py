"""The errors that users see: what is wrong, where, and how to fix it, in one line."""

import re

# And unpaired surrogates, without the ends of lines and tabs.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n|$)")


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
    """An option or a setting is unknown, out of range or contradicts another.

    Option names appear in back quotes, as in ``n_best=4``; the command line shows --n-best 4.
    """


class RecipeError(OptionError):
    """A key of a recipe is unknown, out of range or contradicts another."""


class InputError(NmtError):
    """Text, a record or a document cannot be read or processed."""


class OutputError(NmtError):
    """An output exists already or cannot be written."""


class ModelError(NmtError):
    """A model, a run or prepared data is missing, damaged or unsuitable."""


class VerificationError(NmtError):
    """An export does not translate like the trained model."""


class BusyError(NmtError):
    """Another process uses a folder or a file."""


class ResourceError(NmtError):
    """Memory does not suffice, or a device or a package is missing."""


def first_line(error: Exception) -> str:
    """Return the first line of another library's message, or the type's name if there is none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]


def visible(text: str) -> str:
    """Spell control characters, which a terminal would obey, and surrogates, as JSON does."""
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
