"""Texts to evaluate on: read, and checked to be aligned before anything is translated."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.text.compression import reading
from nmt_cli.text.lines import decode_lines, open_binary


@dataclass(frozen=True)
class EvaluationText:
    """Sentences and how people translated them, aligned line by line.

    Attributes:
        source: None where translations alone are scored.
        references: one or more texts.
        domains: a label a line; None where none were given.
    """

    name: str
    source: list[str] | None
    references: list[list[str]]
    domains: list[str] | None = None

    def __len__(self) -> int:
        return len(self.references[0])


def read_text(
    source: Path | None, references: Sequence[Path], domains: Path | None
) -> EvaluationText:
    """Read a text from files; it is named by its source, else by its first reference.

    Raises:
        NmtError: a file cannot be read, is empty, or has another number of lines than the
            first; a reference is blank where the source is not; a line has no domain.
    """
    paths = [*([source] if source else []), *references, *([domains] if domains else [])]
    texts = [_lines(path) for path in paths]
    for path, lines in zip(paths, texts, strict=True):
        _require_aligned(paths[0], len(texts[0]), path, len(lines))
    if not texts[0]:
        raise NmtError(f"nothing to evaluate: {paths[0]} is empty", "give one sentence a line")
    labels = [each.strip() for each in texts.pop()] if domains else None
    if labels is not None and "" in labels:
        raise NmtError(
            f"{domains}, line {labels.index('') + 1}: no domain", "give each line a label"
        )
    source_lines = texts.pop(0) if source else None
    if source and source_lines:
        for path, lines in zip(references, texts, strict=True):
            _require_filled(path, lines, source, source_lines)
    return EvaluationText(paths[0].name, source_lines, texts, labels)


def read_translation(path: Path, text: EvaluationText, references: Sequence[Path]) -> list[str]:
    """Read a translation of a text that :func:`read_text` read from these references.

    Raises:
        NmtError: it cannot be read, has another number of lines, or a reference of the text,
            where that has no source, is blank where it is not.
    """
    lines = _lines(path)
    _require_aligned(path, len(lines), references[0], len(text))
    if text.source is None:
        for reference, theirs in zip(references, text.references, strict=True):
            _require_filled(reference, theirs, path, lines)
    return lines


def _lines(path: Path) -> list[str]:
    """All lines of a file, out of its compression."""
    with reading(path, open_binary(path)) as stream:
        return list(decode_lines(stream, str(path)))


def blank_lines(reference: Sequence[str], other: Sequence[str]) -> list[int]:
    """Numbers, from 1, of lines that are blank in the reference alone: every score suffers."""
    pairs = zip(reference, other, strict=True)
    return [row for row, (one, two) in enumerate(pairs, 1) if two.strip() and not one.strip()]


def _require_aligned(path: Path, lines: int, other: Path, others: int) -> None:
    if lines != others:
        raise NmtError(
            f"{path} has {lines} lines, {other} has {others}",
            "parallel files need one sentence a line, aligned",
        )


def _require_filled(path: Path, lines: list[str], other: Path, others: list[str]) -> None:
    blank = blank_lines(lines, others)
    if blank:
        raise NmtError(
            f"{path}, line {blank[0]}: blank, and that of {other} is not"
            + (f" (as are {len(blank) - 1} more)" if len(blank) > 1 else ""),
            "fill it in, or take the line out of all files",
        )
