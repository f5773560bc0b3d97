"""Errors that a client is told of."""


class ApiError(Exception):
    """A request that is refused.

    Attributes:
        status: HTTP's.
        message: for the client; has no text of the request.
        seconds: after which to try again; 0 if that does not help.
    """

    def __init__(self, status: int, message: str, seconds: int = 0) -> None:
        super().__init__(message)
        self.status, self.message, self.seconds = status, message, seconds
