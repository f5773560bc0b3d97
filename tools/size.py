"""Print the lines of each package beside its budget, and fail if one is over it.

The budget is the table [tool.nmt.size] of pyproject.toml. An entry names a package of nmt_cli, or
several that share a budget; "ground floor" is every other module. To raise one, say why.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "nmt_cli"
REST = "ground floor"


def lines_of(path: Path) -> int:
    """Count the lines of a module, or of all modules in a folder."""
    modules = [path.with_suffix(".py")] if not path.is_dir() else path.rglob("*.py")
    return sum(len(module.read_text(encoding="utf-8").splitlines()) for module in modules)


def sizes(budget: dict[str, int]) -> dict[str, int]:
    """Return the lines of each entry of the budget."""
    lines = {
        entry: sum(lines_of(PACKAGE / name) for name in entry.split())
        for entry in budget
        if entry not in (REST, "total")
    }
    total = lines_of(PACKAGE)
    return lines | {REST: total - sum(lines.values()), "total": total}


def main() -> None:
    """Print the table; exit with an error if an entry is over its budget."""
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    budget: dict[str, int] = configuration["tool"]["nmt"]["size"]
    lines = sizes(budget)
    for entry, limit in budget.items():
        mark = "  over budget" if lines[entry] > limit else ""
        print(f"{entry:<20} {lines[entry]:>7,} of {limit:>7,} lines{mark}")
    over = [entry for entry, limit in budget.items() if lines[entry] > limit]
    if over:
        sys.exit(f"too many lines: {', '.join(over)}; remove code, or raise the budget and say why")


if __name__ == "__main__":
    main()
