"""What nmt serve can be told."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from nmt_cli.options import NonNegativeInt, PositiveFloat, PositiveInt, option


@dataclass(frozen=True)
class ServeOptions:
    """Where to listen, and the limits."""

    host: str = option("127.0.0.1", "Address to listen at; 0.0.0.0 for all.", metavar="ADDRESS")
    port: Annotated[int, Meta(ge=0, le=65535)] = option(
        5000, "Port to listen at; 0 for a free one."
    )
    threads: Annotated[int, Meta(ge=1, le=1024)] | None = option(
        None, "Batches translated at the same time; default: one per core."
    )
    api_keys: Path | None = option(
        None,
        "File of keys that may use the server, one a line, each with its own limit of requests a "
        "minute behind it if it has one; default: everyone may.",
        metavar="FILE",
    )
    requests_per_minute: NonNegativeInt = option(
        0,
        "Limit for each key or, without keys, each address; 0 for none.",
        metavar="N",
    )
    max_characters: PositiveInt = option(
        50_000, "Most characters of a request's text or file.", metavar="N"
    )
    max_waiting: PositiveInt = option(
        1_000_000,
        "Most characters in the queue; further requests are told to try again later.",
        metavar="N",
    )
    timeout: PositiveFloat = option(
        120.0,
        "Seconds that a request may take.",
        metavar="SECONDS",
    )
    cache: NonNegativeInt = option(
        20, "Megabytes of translations to remember; 0 for none.", metavar="MB"
    )
    memory: NonNegativeInt = option(
        0,
        "Megabytes of models to keep loaded; the one not used for longest makes room. 0 for no "
        "limit.",
        metavar="MB",
    )
