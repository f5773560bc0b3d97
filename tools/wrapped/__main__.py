"""Write wrapped.pt and wrapped.en: python -m tools.wrapped CORPORA_FOLDER."""

import random
import sys
from itertools import chain
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.text.lines import write_lines
from tools.wrapped import made

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.wrapped CORPORA_FOLDER")
    root = Path(sys.argv[1])
    try:
        kinds = made(root)
        pairs = list(chain.from_iterable(kinds.values()))
        random.Random(1).shuffle(pairs)
        for side, language in enumerate(("pt", "en")):
            write_lines(root / f"wrapped.{language}", [pair[side] for pair in pairs])
    except NmtError as error:
        sys.exit(f"error: {error}")
    print(", ".join(f"{kind} {len(pairs):,}" for kind, pairs in kinds.items()))
