"""The answers of a worker process: one JSON object per line of standard output."""

import json
import os
from collections.abc import Iterator
from typing import Any

from nmt_cli.errors import NmtError

# Makes a script a worker instead.
WORKER = "--worker"


def write_answers(answers: Iterator[dict[str, Any]]) -> None:
    """Write answers as they come, and finally the error if one ends them."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    try:
        for answer in answers:
            output.write(json.dumps(answer) + "\n")
            output.flush()
    except NmtError as error:
        output.write(json.dumps({"error": error.message, "hint": error.hint}) + "\n")
        output.flush()
