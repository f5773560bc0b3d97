"""The settings of the search, the only table of a recipe that bundles have beside [model]."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from nmt_cli.options import option

BeamSize = Annotated[int, Meta(ge=1, le=256)]
Penalty = Annotated[float, Meta(ge=0, le=10)]
Length = Annotated[int, Meta(ge=1, le=1 << 16)]


@dataclass(frozen=True)
class DecodingConfig:
    """The [decoding] table: defaults of the search."""

    beam_size: BeamSize = option(4, "Number of hypotheses kept at each step; 1 is greedy search.")
    # Wu et al. 2016, equation 14
    length_penalty: Penalty = option(0.6, "GNMT's alpha; larger values favour longer translations.")
    max_length: Length = option(256, "Maximum tokens of a translation, its end included.")
    length_ratio: Annotated[float, Meta(ge=0.1, le=1000)] = option(
        1.5, "A translation has at most length_ratio * source tokens + length_extra tokens."
    )
    length_extra: Length = option(10, "See length_ratio.")
    max_source: Annotated[int, Meta(ge=2, le=1 << 16)] = option(
        128, "Longer sources are split at sentence ends."
    )
    fold_capitals: bool = option(False, "Translate all-caps lines in lower case.")
    repair_code: bool = option(False, "Correct misspelled identifiers and long numbers.")
