"""How often texts are taken for another language: python -m benchmarks.language_check CORPORA...

Reads PREFIX.pt and PREFIX.en of each PREFIX, and translates groups of 1, 3 and 10 consecutive lines
of both sides with exports/pt-en, as `nmt translate` would if each group were an input.
"""

import argparse
import logging
from pathlib import Path

import nmt_cli
from nmt_cli.jobs.language import LanguageCheck
from nmt_cli.search.lines import Line, Translation

SIZES = (1, 3, 10)


class Warnings(logging.Handler):
    """Counts warnings."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self.count += 1


def main() -> None:
    """Print a table of the shares of groups that are warned of."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prefixes", nargs="+", metavar="PREFIX")
    parser.add_argument("--lines", type=int, default=30, help="lines of each side of each corpus")
    options = parser.parse_args()
    logger = logging.getLogger("nmt_cli.jobs.language")
    logger.propagate = False
    print("| lines | language | inputs | warned of |\n|---|---|---|---|")
    with nmt_cli.open("exports/pt-en") as model:
        translated = {
            code: [
                [*zip(lines, model.translate(lines), strict=True)]
                for prefix in options.prefixes
                for lines in [every(Path(f"{prefix}.{code}"), options.lines)]
            ]
            for code in ("pt", "en")
        }
    for size in SIZES:
        for code, corpora in translated.items():
            logger.handlers = [warnings := Warnings()]
            groups = [
                corpus[start : start + size]
                for corpus in corpora
                for start in range(0, len(corpus) - size + 1, size)
            ]
            for group in groups:
                judge(group)
            share = warnings.count / max(1, len(groups))
            print(f"| {size} | {code} | {len(groups)} | {100 * share:.2f}% |")


def judge(group: list[tuple[str, Translation]]) -> None:
    """Check lines as an input, with the translations that they have."""
    check = LanguageCheck("", ("pt", "en"))
    for _ in check.watch([Line(line) for line, _ in group], lambda _: [item for _, item in group]):
        pass
    check.finish()


def every(path: Path, count: int) -> list[str]:
    """Return lines from all of a file, at most ``count``."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return lines[:: max(1, len(lines) // count)][:count]


if __name__ == "__main__":
    main()
