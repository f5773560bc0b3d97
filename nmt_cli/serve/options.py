"""Options of ``nmt serve``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from nmt_cli.options import NonNegativeInt, PositiveFloat, PositiveInt, option


@dataclass(frozen=True)
class ServeOptions:
    """Where to listen, and the limits."""

    host: str = option("127.0.0.1", "Address to listen on; 0.0.0.0 for all.", metavar="ADDRESS")
    port: Annotated[int, Meta(ge=0, le=65535)] = option(
        5000, "Port to listen on; 0 for a free one."
    )
    proxy: str = option(
        "",
        "Address of a reverse proxy, whose X-Forwarded-For header names the client's address.",
        metavar="ADDRESS",
    )
    url: str = option(
        "",
        "Public URL of the server, for links to translated files; default: where it listens.",
        metavar="URL",
    )
    origins: str = option(
        "*",
        "Web sites whose pages may use the server (CORS), separated by commas; * for all.",
        metavar="ORIGINS",
    )
    glossaries: Path | None = option(
        None, "Database of the glossaries of clients; default: in memory only.", metavar="FILE"
    )
    suggestions: Path | None = option(
        None,
        "Accept suggested translations (POST /suggest), and append them to this TSV file: source "
        "text, suggestion, and the codes of their languages.",
        metavar="FILE",
    )
    threads: Annotated[int, Meta(ge=1, le=1024)] | None = option(
        None, "Batches translated at the same time; default: one per core.", group="Hardware"
    )
    api_keys: Path | None = option(
        None,
        "File of API keys, one per line, optionally followed by a per-minute request limit. "
        "Default: no key required.",
        metavar="FILE",
        group="Limits",
    )
    requests_per_minute: NonNegativeInt = option(
        0, "Limit per key or, without keys, per address; 0 for none.", group="Limits"
    )
    max_characters: PositiveInt = option(50_000, "Maximum characters per request.", group="Limits")
    max_document: PositiveInt = option(
        10, "Maximum size of a document, in megabytes.", metavar="MB", group="Limits"
    )
    max_texts: PositiveInt = option(2000, "Maximum texts per request.", group="Limits")
    max_waiting: PositiveInt = option(
        1_000_000, "Maximum characters queued; beyond it, requests get status 429.", group="Limits"
    )
    timeout: PositiveFloat = option(
        120.0, "Maximum seconds per request.", metavar="SECONDS", group="Limits"
    )
    cache: NonNegativeInt = option(
        20,
        "Memory for translations to reuse, in megabytes; 0 for none.",
        metavar="MB",
        group="Hardware",
    )
    memory: NonNegativeInt = option(
        0,
        "Memory limit for loaded models, in megabytes; the least recently used model is "
        "unloaded. 0 for no limit.",
        metavar="MB",
        group="Hardware",
    )
