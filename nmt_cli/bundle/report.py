"""The verification report: how a bundle was compared with the trained model, and the results."""

from dataclasses import dataclass
from typing import Literal

from nmt_cli.errors import NmtError

PASSED: Literal["passed"] = "passed"
SKIPPED: Literal["skipped"] = "skipped"


@dataclass(frozen=True)
class Check:
    """One measurement.

    Attributes:
        name: what was measured; smaller is better.
        value: the result, to four digits.
        limit: the largest value that passes; None: for information only.
        passed: whether the value is within the limit.
    """

    name: str
    value: float
    limit: float | None
    passed: bool

    @classmethod
    def of(cls, name: str, value: float, limit: float | None = None) -> "Check":
        """Compare a measurement with its limit; NaN passes none."""
        value = float(f"{value:.4g}")
        return cls(name, value, limit, limit is None or value <= limit)

    def __str__(self) -> str:
        bound = "" if self.limit is None else f" (at most {self.limit:g})"
        return f"{self.name}: {self.value:g}{bound}"


@dataclass(frozen=True)
class Verification:
    """The outcome of a bundle's verification; by default that of an unverified bundle.

    Attributes:
        outcome: PASSED or SKIPPED; a bundle that fails is never written.
        against: what the bundle was compared with.
        checks: in the order in which they were made.
        nmt_version, onnxruntime: versions of the software that made them.
        version: format of this record.
    """

    outcome: Literal["passed", "skipped"] = SKIPPED
    against: str = ""
    checks: tuple[Check, ...] = ()
    nmt_version: str = ""
    onnxruntime: str = ""
    version: Literal[1] = 1

    def lines(self) -> list[str]:
        """Return the report for people, one line per entry."""
        if self.outcome == SKIPPED:
            return ["skipped: this bundle was not compared with the trained model"]
        head = f"{self.outcome}, against {self.against}"
        if self.onnxruntime:
            head += f" (nmt {self.nmt_version}, onnxruntime {self.onnxruntime})"
        return [head, *map(str, self.checks)]


def require_passed(checks: list[Check], what: str, hint: str) -> None:
    """Raise an NmtError that names the first check that failed, if any."""
    for each in checks:
        if not each.passed:
            raise NmtError(f"{what}: verification failed: {each}", hint)
