"""The verification report: what was compared with the trained model, and how it came out."""

from dataclasses import dataclass

from nmt_cli.bundle.values import Table
from nmt_cli.errors import NmtError

REPORT_VERSION = 1
PASSED, SKIPPED = "passed", "skipped"


@dataclass(frozen=True)
class Check:
    """One measurement.

    Attributes:
        name: what was measured, so that smaller is better.
        value: what came out.
        limit: what it may be at most; None if it is told for information alone.
        passed: whether it was within the limit.
    """

    name: str
    value: float
    limit: float | None
    passed: bool

    @classmethod
    def of(cls, name: str, value: float, limit: float | None = None) -> "Check":
        """A measurement and what comes of it; what is not a number passes no limit."""
        return cls(name, float(f"{value:.4g}"), limit, limit is None or value <= limit)

    def __str__(self) -> str:
        bound = "" if self.limit is None else f" (at most {self.limit:g})"
        return f"{self.name}: {self.value:g}{bound}"


@dataclass(frozen=True)
class Verification:
    """The outcome of a bundle's verification; its defaults are those of a bundle without one.

    Attributes:
        outcome: PASSED or SKIPPED. What failed is never put in place.
        against: what the bundle was compared with.
        checks: in the order in which they were made.
        nmt_version, onnxruntime: the versions that made them.
        version: of this section's format.
    """

    outcome: str = SKIPPED
    against: str = ""
    checks: tuple[Check, ...] = ()
    nmt_version: str = ""
    onnxruntime: str = ""
    version: int = REPORT_VERSION

    def lines(self) -> list[str]:
        """The report for people, a line an entry."""
        if self.outcome == SKIPPED:
            return ["skipped: this bundle was not compared with the trained model"]
        head = f"{self.outcome}, against {self.against}"
        if self.onnxruntime:
            head += f" (nmt {self.nmt_version}, onnxruntime {self.onnxruntime})"
        return [head, *map(str, self.checks)]


def require_passed(checks: list[Check], what: str, hint: str) -> None:
    """Refuse what fails a check.

    Raises:
        NmtError: names the first check that failed.
    """
    for each in checks:
        if not each.passed:
            raise NmtError(f"{what}: verification failed: {each}", hint)


def report_from(table: Table) -> Verification:
    """Read the section back.

    Raises:
        NmtError: a value is not what it should be, or contradicts another.
    """
    outcome = table.choice("outcome", (PASSED, SKIPPED))
    checks = tuple(map(_check, table.rows("checks")))
    if outcome == PASSED and not (checks and all(each.passed for each in checks)):
        raise table.refusal("outcome", f"{SKIPPED}, as its checks stand")
    return Verification(
        outcome,
        str(table.values.get("against", "")),
        checks,
        str(table.values.get("nmt_version", "")),
        str(table.values.get("onnxruntime", "")),
        table.whole("version", 1, REPORT_VERSION),
    )


def _check(row: Table) -> Check:
    limit = None if row.values.get("limit") is None else row.number("limit")
    check = Check(row.text("name"), row.number("value"), limit, row.flag("passed"))
    if check.passed != (limit is None or check.value <= limit):
        raise row.refusal("passed", "what its value and limit make it")
    return check
