"""Write the data file of the package."""

import bz2
from pathlib import Path

from tools.phrasebook import table

FILE = Path(__file__).parents[2] / "nmt_cli" / "data" / "phrasebook.tsv.bz2"

if __name__ == "__main__":
    FILE.write_bytes(bz2.compress(table().encode("utf-8")))
