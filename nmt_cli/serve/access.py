"""Who may use the server, and how often."""

import time
from collections import Counter
from pathlib import Path

from starlette.exceptions import HTTPException

from nmt_cli.errors import NmtError
from nmt_cli.text.lines import read_lines

# Clients whose requests are counted; beyond it, those that have waited longest are forgotten.
_MOST_CLIENTS = 10_000


class TooMany(HTTPException):
    """A request that is refused, and after how many seconds to try again."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(429, message, {"Retry-After": str(seconds)})


class Access:
    """Keys, limits of requests, and characters used.

    Args:
        keys: with their own limits, or None for the default one; without keys, all may use the
            server.
        limit: requests a minute of a key or, without keys, of an address; 0 for no limit.
    """

    def __init__(self, keys: dict[str, int | None], limit: int) -> None:
        self.keys, self._limit = keys, limit
        self.used: Counter[str] = Counter()
        self._left: dict[str, tuple[float, float]] = {}  # requests that are left, and since when

    @classmethod
    def read(cls, path: Path | None, limit: int) -> "Access":
        """Read keys from a file: one a line, with its requests a minute if they differ.

        Raises:
            NmtError: the file cannot be read, or a line is neither.
        """
        keys: dict[str, int | None] = {}
        for number, line in enumerate(read_lines(path) if path else [], start=1):
            key, *rest = line.partition("#")[0].split() or [""]
            if not key:
                continue
            if len(rest) > 1 or not all(each.isdecimal() and int(each) for each in rest):
                raise NmtError(
                    f"{path}, line {number}: not a key", "give KEY or KEY REQUESTS_PER_MINUTE"
                )
            keys[key] = int(rest[0]) if rest else None
        if path and not keys:
            raise NmtError(f"{path}: has no key", "write one key a line")
        return cls(keys, limit)

    def admit(self, key: str, address: str) -> None:
        """Count a request, of a key that is known.

        Raises:
            TooMany: there were too many within the last minute.
        """
        limit = self.keys.get(key) or self._limit
        if not limit:
            return
        name, now = key or address, time.monotonic()
        left, since = self._left.pop(name, (float(limit), now))
        left = min(limit, left + (now - since) * limit / 60)
        self._left[name] = (max(left - 1, 0) if left >= 1 else left, now)
        if len(self._left) > _MOST_CLIENTS:
            self._left.pop(next(iter(self._left)))
        if left < 1:
            raise TooMany(f"{limit} per minute", 1 + int((1 - left) * 60 / limit))
