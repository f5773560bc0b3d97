"""Damage copies of a bundle, update their hashes, and translate with them.

Runs as a separate process, because it could crash or hang:
python -m tests.bundle.survive PRISTINE WORK FIRST LAST
"""

import resource
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

from nmt_cli.errors import NmtError
from tests.bundle import harm
from tests.translators import load_bundle

LINES = ("um dois três quatro", "", "casa gato água", "日本語 🙂 Ação", "sol " * 30)
MEMORY = 6 << 30


def outcome(folder: Path) -> str:
    """Return the translations of a bundle, or the one-line error that refuses it."""
    try:
        return "translated " + repr([each.text for each in load_bundle(folder).translate(LINES)])
    except NmtError as error:
        message = str(error)
    assert len(message.splitlines()) == 1, message
    return f"refused {message}"


def survive(pristine: Path, work: Path, number: int) -> tuple[str, str]:
    """Damage a bundle, hide it from the hashes, and return the damage and the outcome."""
    rng = np.random.default_rng([7, number])
    folder = work / "bundle"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(pristine, folder)
    done = harm.HIDDEN[number % len(harm.HIDDEN)](folder, rng)
    # A damaged manifest may be impossible to update.
    with suppress(ValueError, OSError, KeyError, TypeError, AttributeError):
        harm.hide(folder)
    return done, outcome(folder)


def main() -> None:
    """Print a line before and after each bundle, so that a crash shows where it was."""
    pristine, work = Path(sys.argv[1]), Path(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(int(sys.argv[3]), int(sys.argv[4])):
        print(f"{number} begun", flush=True)
        done, what = survive(pristine, work, number)
        print(f"{number} {done}: {what}".encode("unicode_escape").decode(), flush=True)


if __name__ == "__main__":
    main()
