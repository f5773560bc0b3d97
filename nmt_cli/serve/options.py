"""What nmt serve can be told."""

from dataclasses import dataclass
from pathlib import Path

from nmt_cli.search.options import option


@dataclass(frozen=True)
class ServeOptions:
    """Where to listen, and the limits."""

    host: str = option("127.0.0.1", "Address to listen at; 0.0.0.0 for all.", metavar="ADDRESS")
    port: int = option(5000, "Port to listen at; 0 for a free one.", bounds=(0, 65535))
    threads: int | None = option(
        None, "Batches translated at the same time; default: one per core.", bounds=(1, 1024)
    )
    api_keys: Path | None = option(
        None,
        "File of keys that may use the server, one a line, each with its own limit of requests a "
        "minute behind it if it has one; default: everyone may.",
        metavar="FILE",
    )
    requests_per_minute: int = option(
        0,
        "Limit for each key or, without keys, each address; 0 for none.",
        bounds=(0, None),
        metavar="N",
    )
    max_characters: int = option(
        50_000, "Most characters of a request's text or file.", bounds=(1, None), metavar="N"
    )
    max_waiting: int = option(
        1_000_000,
        "Most characters in the queue; further requests are told to try again later.",
        bounds=(1, None),
        metavar="N",
    )
    timeout: float = option(
        120.0,
        "Seconds that a request may take.",
        bounds=(0, None),
        open_below=True,
        metavar="SECONDS",
    )
    cache: int = option(
        20, "Megabytes of translations to remember; 0 for none.", bounds=(0, None), metavar="MB"
    )
    memory: int = option(
        0,
        "Megabytes of models to keep loaded; the one not used for longest makes room. 0 for no "
        "limit.",
        bounds=(0, None),
        metavar="MB",
    )
