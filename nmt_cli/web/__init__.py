"""The web pages: of ``nmt serve`` (serve/), of ``nmt export --web`` (export/), shared files."""

from functools import cache
from pathlib import Path
from typing import Literal

_FOLDER = Path(__file__).parent


def page_files(page: Literal["serve", "export"]) -> dict[str, Path]:
    """Return the files of a page, with those that it shares, by their names on the page."""
    folders = _FOLDER / "shared", _FOLDER / page
    return {path.name: path for folder in folders for path in sorted(folder.iterdir())}


def language_name(code: str) -> str:
    """Return the English name of a language, or its code if it is unknown."""
    base, _, region = code.lower().partition("-")
    name = _language_names().get(base, code)
    return f"{name} ({region.upper()})" if region else name


@cache
def _language_names() -> dict[str, str]:
    lines = (_FOLDER / "languages.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)
