"""English names of languages."""

from functools import cache
from pathlib import Path


@cache
def _names() -> dict[str, str]:
    lines = (Path(__file__).parent / "languages.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


def name_of(code: str) -> str:
    """The English name of a language; its code if it has none here."""
    base, _, region = code.lower().partition("-")
    name = _names().get(base, code)
    return f"{name} ({region.upper()})" if region else name
