"""Write the corpora of the written text: python -m tools.phrases FOLDER."""

import sys
from pathlib import Path

from nmt_cli.text.lines import write_lines
from tools.phrases import daily, general, greetings, phrases, sentences, talks

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.phrases FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for corpus in (greetings, phrases, sentences, talks, general, daily):
        name, pairs = corpus.__name__, corpus()
        if not pairs:
            continue
        for side, language in enumerate(("pt", "en")):
            write_lines(folder / f"{name}.{language}", [pair[side] for pair in pairs])
