"""Decoding options: what a user can request, and what the search works with."""

import math
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from nmt_cli.errors import OptionError
from nmt_cli.options import NonNegativeInt, PositiveInt, check_settings, option

if TYPE_CHECKING:  # every command's help reads this module
    from nmt_cli.recipe.model import DecodingConfig


BeamSize = Annotated[int, Meta(ge=1, le=256)]
Penalty = Annotated[float, Meta(ge=0, le=10)]


@dataclass(frozen=True, kw_only=True)
class DecodingOptions:
    """How to translate; the defaults find the best translation as the model's recipe says.
    Every field is an option of ``nmt translate``; None takes the model's own value."""

    beam_size: BeamSize | None = option(
        None, "Number of hypotheses kept at each step; 1 is greedy search."
    )
    length_penalty: Penalty | None = option(
        None, "GNMT's alpha: 0 for none, larger values favour longer translations."
    )
    n_best: BeamSize = option(
        1,
        "Number of translations of each line, best first; may need a larger `beam_size`.",
        group="Output",
    )
    coverage_penalty: Penalty = option(
        0.0, "GNMT's beta: larger values favour translations that cover the whole source."
    )
    max_length: Annotated[int, Meta(ge=2, le=10_000)] | None = option(
        None, "Maximum tokens of a translation; default: the model's."
    )
    min_length: Annotated[int, Meta(ge=0, le=10_000)] = option(
        0, "Minimum tokens of a translation."
    )
    repetition_penalty: Annotated[float, Meta(ge=1, le=10)] = option(
        1.0, "Multiply the log-probabilities of tokens already in the translation; 1 for none."
    )
    no_repeat_ngram: Annotated[int, Meta(ge=0, le=100)] | None = option(
        None,
        "Allow no sequence of N tokens twice; 0 for no limit. Default: search again with 3, "
        "then 2 (a model of characters: with 9), if a translation repeats itself.",
    )
    split_sentences: bool = option(
        True, "Translate the sentences of a line one by one, if the model does so by default."
    )
    prefix: str = option("", "Begin each translation with TEXT.", metavar="TEXT")
    suppress: tuple[str, ...] = option(
        (), "A word or phrase that must not appear in a translation; repeatable.", metavar="TEXT"
    )
    glossary: Path | None = option(
        None,
        "Translate the terms in FILE as it says: TSV or CSV lines of a term and its translation, "
        "or TBX.",
        metavar="FILE",
    )
    unk: Literal["keep", "avoid", "copy"] = option(
        "keep", "Unknown words: keep the unknown token, avoid it, or copy the source word."
    )
    sample: bool = option(
        False, "Sample tokens at random; `n_best` samples of each line.", group="Sampling"
    )
    top_k: PositiveInt | None = option(
        None, "Sample from the K most probable tokens.", metavar="K", group="Sampling"
    )
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = option(
        None,
        "Sample from the most probable tokens whose probabilities add up to P.",
        metavar="P",
        group="Sampling",
    )
    temperature: Annotated[float, Meta(gt=0, le=100)] | None = option(
        None, "Below 1, probable tokens become more probable.", group="Sampling"
    )
    seed: NonNegativeInt | None = option(
        None,
        "Seed of the samples; default: 0. A line gets the same samples in any batch.",
        group="Sampling",
    )
    alignments: bool = option(
        False,
        "Add pairs i-j of aligned source and target words, from 0. Bundles need an export "
        "with `attention`.",
        group="Output",
    )

    @property
    def needs_attention(self) -> bool:
        """Whether the model must provide attention weights."""
        return self.alignments or self.unk == "copy" or self.coverage_penalty > 0

    def check(self) -> None:
        """Raise OptionError if an option is out of range or contradicts another one."""
        check_settings(self)
        for name in ("seed", "temperature", "top_k", "top_p"):
            if getattr(self, name) is not None and not self.sample:
                raise OptionError(f"`{name}` needs `sample`")
        if self.sample and self.beam_size is not None:
            raise OptionError("sampling uses no beam: omit `beam_size` or `sample`")
        if self.glossary and (self.sample or self.prefix):
            other = "sample" if self.sample else "prefix"
            raise OptionError(f"`glossary` and `{other}` cannot be combined")
        if any(not phrase.strip() for phrase in self.suppress):
            raise OptionError("`suppress` needs a word or phrase")


@dataclass(frozen=True, kw_only=True)
class SearchOptions(DecodingOptions):
    """Decoding options with the model's values filled in."""

    # A field without a default is required, unlike the inherited one.
    beam_size: int = field()
    length_penalty: float = field()
    max_length: int = field()
    length_ratio: float = field()
    length_extra: int = field()

    @classmethod
    def of(
        cls, config: "DecodingConfig", options: DecodingOptions | None = None
    ) -> "SearchOptions":
        """Check the options, and fill in a recipe's settings where they leave the choice to it."""
        options = options or DecodingOptions()
        options.check()
        values = {item.name: getattr(options, item.name) for item in fields(DecodingOptions)}
        for name in ("beam_size", "length_penalty", "max_length"):
            if values[name] is None:
                values[name] = getattr(config, name)
        if options.sample:  # each sample has its own slot
            values["beam_size"] = options.n_best
        resolved = cls(**values, length_ratio=config.length_ratio, length_extra=config.length_extra)
        if resolved.n_best > resolved.beam_size:
            raise OptionError(
                f"`n_best={resolved.n_best}` needs a beam of that size; "
                f"use `beam_size={resolved.n_best}`"
            )
        if resolved.min_length >= resolved.max_length:
            raise OptionError(
                f"`min_length={resolved.min_length}` leaves no room for the end token within "
                f"{resolved.max_length} tokens; use a larger `max_length`"
            )
        return resolved

    def limit(self, source_tokens: int) -> int:
        """Return the maximum length of the translation of a source of ``source_tokens``."""
        limit = math.ceil(self.length_ratio * source_tokens) + self.length_extra
        return min(self.max_length, limit)
