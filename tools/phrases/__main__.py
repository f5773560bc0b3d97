"""Write the phrases as a corpus: python -m tools.phrases FOLDER (phrases.pt, phrases.en)."""

import sys
from pathlib import Path

from tools.phrases import pairs

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.phrases FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for side, language in enumerate(("pt", "en")):
        lines = "".join(f"{pair[side]}\n" for pair in pairs())
        (folder / f"phrases.{language}").write_text(lines, encoding="utf-8")
