"""Write two corpora, phrases and sentences: python -m tools.phrases FOLDER (phrases.pt, ...)."""

import sys
from pathlib import Path

from tools.phrases import phrases, sentences

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.phrases FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in (("phrases", phrases()), ("sentences", sentences())):
        for side, language in enumerate(("pt", "en")):
            lines = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{name}.{language}").write_text(lines, encoding="utf-8")
