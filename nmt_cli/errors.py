"""The one exception that a user is meant to see."""


class NmtError(Exception):
    """A failure that the user can understand and mend.

    Args:
        message: what went wrong and where (file, line, key), without a final full stop.
        hint: how to mend it; printed after the message on the same line.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message = message
        self.hint = hint
