"""The phrasebook: Portuguese-English sentence pairs that come with the package.

The pairs of all splits are in phrasebook.tsv.bz2, one "split, pt, en" row a line. The grammar
that generates the file is tools/phrasebook in the source repository.
"""

import bz2
from importlib.resources import files

from nmt_cli.errors import NmtError

SPLITS = ("train", "dev", "test")


def sentence_pairs(split: str) -> list[dict[str, str]]:
    """Return the pairs of one split in order, each {"pt": ..., "en": ...}.

    Dev (300 pairs) and test (1,000) contain no sentence of another split, in either language,
    even if case and punctuation are ignored, and no word that is not in train. About one in
    twenty-five combinations of a verb and its object (wash, dress) or of a noun and its
    adjective (box, heavy) occurs in test only.

    Raises:
        NmtError: there is no such split.
    """
    if split not in SPLITS:
        raise NmtError(f"phrasebook:{split}: no such split", "choose train, dev or test")
    packed = files("nmt_cli.data").joinpath("phrasebook.tsv.bz2").read_bytes()
    rows = (line.split("\t") for line in bz2.decompress(packed).decode("utf-8").splitlines())
    return [{"pt": pt, "en": en} for name, pt, en in rows if name == split]
