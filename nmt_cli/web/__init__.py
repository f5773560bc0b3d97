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
    name = _table("languages.tsv").get(base, code)
    return f"{name} ({region.upper()})" if region else name


def two_letter_code(code: str) -> str:
    """Return a code in lower case, with two letters for a language that has such a code."""
    base, separator, region = code.lower().replace("_", "-").partition("-")
    return _table("codes.tsv").get(base, base) + separator + region


@cache
def _table(name: str) -> dict[str, str]:
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)
