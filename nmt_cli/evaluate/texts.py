"""Read the texts to evaluate on, and check that they are aligned before anything is translated."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.errors import InputError
from nmt_cli.text.lines import is_blank, read_lines


@dataclass(frozen=True)
class EvaluationText:
    """Sentences and their reference translations, aligned line by line, and a domain for each line.
    ``files`` are those of the references, or of the source if there are none."""

    name: str
    source: list[str] | None
    references: list[list[str]]
    domains: list[str] | None = None
    files: Sequence[Path] = ()

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def lines(self) -> list[str]:
        """The first reference, or the source if there is none."""
        return [*self.references, self.source or []][0]


def read_text(
    source: Path | None, references: Sequence[Path], domains: Path | None
) -> EvaluationText:
    """Read a text from files, and name it after its source, or after its first reference."""
    paths = [*([source] if source else []), *references, *([domains] if domains else [])]
    texts = [read_lines(path) for path in paths]
    for path, lines in zip(paths, texts, strict=True):
        require_aligned(paths[0], texts[0], path, lines)
    if not texts[0]:
        raise InputError(f"nothing to evaluate: {paths[0]} is empty", "give one sentence per line")
    labels = [label.strip() for label in texts.pop()] if domains else None
    if labels and "" in labels:
        raise InputError(
            f"{domains}, line {labels.index('') + 1}: no domain", "give each line a label"
        )
    source_lines = texts.pop(0) if source else None
    if source and source_lines:
        for path, lines in zip(references, texts, strict=True):
            _require_filled(path, lines, source, source_lines)
    return EvaluationText(paths[0].name, source_lines, texts, labels, references or paths)


def read_translation(path: Path, text: EvaluationText) -> list[str]:
    """Read a translation of a text that comes from files."""
    lines = read_lines(path)
    require_aligned(path, lines, text.files[0], text.lines)
    if text.source is None:
        for file, reference in zip(text.files, text.references, strict=True):
            _require_filled(file, reference, path, lines)
    return lines


def blank_lines(reference: Sequence[str], other: Sequence[str]) -> list[int]:
    """Return the numbers, from 1, of lines that are blank in the reference only."""
    return [
        number
        for number, (line, other_line) in enumerate(zip(reference, other, strict=True), start=1)
        if is_blank(line) and not is_blank(other_line)
    ]


def require_aligned(path: Path, lines: list[str], other: Path, others: list[str]) -> None:
    """Check that two files have the same number of lines."""
    if len(lines) != len(others):
        raise InputError(
            f"{path} has {len(lines)} lines, {other} has {len(others)}",
            "parallel files need one sentence per line, aligned",
        )


def _require_filled(path: Path, lines: list[str], other: Path, others: list[str]) -> None:
    blank = blank_lines(lines, others)
    if blank:
        further = f" (and {len(blank) - 1} more lines)" if len(blank) > 1 else ""
        raise InputError(
            f"{path}, line {blank[0]}: blank, but the line in {other} is not{further}",
            "fill it in, or delete the line in all files",
        )
