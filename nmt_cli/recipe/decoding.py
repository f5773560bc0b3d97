"""The settings of the search, the only table of a recipe that bundles have beside [model]."""

from dataclasses import dataclass

from nmt_cli.recipe.architecture import bounded


@dataclass(frozen=True)
class DecodingConfig:
    """The [decoding] table: defaults of the search."""

    beam_size: int = bounded(4, 1, 256)
    length_penalty: float = bounded(0.6, 0.0, 10.0)  # alpha of Wu et al. 2016, equation 14
    max_length: int = bounded(256, 1)  # tokens, END included
    length_ratio: float = bounded(1.5, 0.1)  # at most ratio * source + extra tokens
    length_extra: int = bounded(10, 1)
    max_source: int = bounded(128, 2)  # longer sources are split at sentence ends
    fold_capitals: bool = False  # lines in capitals are translated in lower case
    repair_code: bool = False  # code that the translation misspells is copied from the source
