"""Decoding options: what a user can request, and what the search works with."""

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from nmt_cli.errors import OptionError

if TYPE_CHECKING:  # every command's help reads this module
    from nmt_cli.recipe.decoding import DecodingConfig


def option(default: Any, help: str, **details: Any) -> Any:
    """A dataclass field with what the command line needs to offer it.

    Args:
        default: None leaves the choice to the model.
        help: one or two lines for ``--help``.
        details: bounds (None for none), open_below (which excludes the lower one), choices,
            metavar, flags, without_value (what the option means without one).
    """
    return field(default=default, metadata={"help": help, **details})


@dataclass(frozen=True, kw_only=True)
class DecodingOptions:
    """How to translate; the defaults find the best translation as the model's recipe says.

    Every field is an option of ``nmt translate``; None takes the model's own value.
    """

    beam_size: int | None = option(
        None, "Number of hypotheses kept at each step; 1 is greedy search.", bounds=(1, 256)
    )
    length_penalty: float | None = option(
        None, "GNMT's alpha: 0 for none, larger values favour longer translations.", bounds=(0, 10)
    )
    n_best: int = option(
        1,
        "Number of translations of each line, best first; may need a larger --beam-size.",
        bounds=(1, 256),
        metavar="N",
    )
    coverage_penalty: float = option(
        0.0,
        "GNMT's beta: larger values favour translations that cover the whole source.",
        bounds=(0, 10),
        metavar="BETA",
    )
    max_length: int | None = option(
        None,
        "Maximum number of tokens in a translation; default: the model's.",
        bounds=(2, 10_000),
        metavar="N",
    )
    min_length: int = option(
        0, "Minimum number of tokens in a translation.", bounds=(0, 10_000), metavar="N"
    )
    repetition_penalty: float = option(
        1.0,
        "Multiply the log-probabilities of tokens already in the translation; 1 for none.",
        bounds=(1, 10),
        metavar="X",
    )
    no_repeat_ngram: int | None = option(
        None,
        "Allow no sequence of N tokens to occur twice; 0 for no limit. Default: search again with "
        "3, then 2, where a translation repeats itself.",
        bounds=(0, 100),
        metavar="N",
    )
    prefix: str = option("", "Begin each translation with TEXT.", metavar="TEXT")
    suppress: tuple[str, ...] = option(
        (), "A word or phrase that must not appear in a translation; repeatable.", metavar="TEXT"
    )
    unk: str = option(
        "keep",
        "Unknown words: keep the unknown token, avoid it, or copy the source word.",
        choices=("keep", "avoid", "copy"),
    )
    sample: bool = option(False, "Sample tokens at random; --n-best samples of each line.")
    top_k: int | None = option(
        None, "Sample from the K most probable tokens.", bounds=(1, None), metavar="K"
    )
    top_p: float | None = option(
        None,
        "Sample from the most probable tokens whose probabilities add up to P.",
        bounds=(0, 1),
        open_below=True,
        metavar="P",
    )
    temperature: float | None = option(
        None,
        "Sampling temperature: below 1, probable tokens become more probable.",
        bounds=(0, 100),
        open_below=True,
        metavar="T",
    )
    seed: int | None = option(
        None,
        "Seed of the samples; default 0. A line gets the same samples in any batch.",
        bounds=(0, None),
        metavar="N",
    )
    alignments: bool = option(
        False,
        "Add pairs i-j of aligned source and target words, from 0. A bundle must have been "
        "exported with --attention.",
    )

    @property
    def needs_attention(self) -> bool:
        """Whether the model must provide attention weights."""
        return self.alignments or self.unk == "copy" or self.coverage_penalty > 0

    def check(self) -> None:
        """Check that the options are compatible.

        Raises:
            OptionError: an option is out of range or contradicts another one.
        """
        for each in fields(DecodingOptions):
            value, limits = getattr(self, each.name), each.metadata
            if "choices" in limits and value not in limits["choices"]:
                choices = ", ".join(limits["choices"])
                raise OptionError(f"`{each.name}={value}` is not one of {choices}")
            if value is None or isinstance(value, bool | str | tuple):
                continue
            low, high = limits["bounds"]
            is_excluded = value == low and "open_below" in limits
            if not low <= value <= (math.inf if high is None else high) or is_excluded:
                raise OptionError(f"`{each.name}={value}` is out of range")
        for name in ("seed", "temperature", "top_k", "top_p"):
            if getattr(self, name) is not None and not self.sample:
                raise OptionError(f"`{name}` needs `sample`")
        if self.sample and self.beam_size is not None:
            raise OptionError("sampling uses no beam: omit `beam_size` or `sample`")
        if isinstance(self.suppress, str):
            raise OptionError("`suppress` is a text, not a tuple of texts")
        if any(not each.strip() for each in self.suppress):
            raise OptionError("`suppress` needs a word or phrase")


@dataclass(frozen=True, kw_only=True)
class SearchOptions(DecodingOptions):
    """Decoding options with the model's values filled in.

    Attributes:
        max_length: tokens of a translation at most, END included.
        length_ratio, length_extra: and at most ``ceil(ratio * source tokens) + extra``.
    """

    beam_size: int = field()
    length_penalty: float = field()
    max_length: int = field()
    length_ratio: float = field()
    length_extra: int = field()

    @classmethod
    def of(
        cls, config: "DecodingConfig", options: DecodingOptions | None = None
    ) -> "SearchOptions":
        """The options as given, and a recipe's settings for the rest.

        Raises:
            OptionError: the options contradict each other or the recipe's settings.
        """
        given = options or DecodingOptions()
        given.check()
        values = {each.name: getattr(given, each.name) for each in fields(DecodingOptions)}
        for name in ("beam_size", "length_penalty", "max_length"):
            if values[name] is None:
                values[name] = getattr(config, name)
        if given.sample:  # each sample follows a slot of its own
            values["beam_size"] = given.n_best
        found = cls(**values, length_ratio=config.length_ratio, length_extra=config.length_extra)
        if found.n_best > found.beam_size:
            raise OptionError(
                f"`n_best={found.n_best}` needs a beam of that size; use `beam_size={found.n_best}`"
            )
        if found.min_length >= found.max_length:
            raise OptionError(
                f"`min_length={found.min_length}` leaves no room for the end token within "
                f"{found.max_length} tokens; use a larger `max_length`"
            )
        return found

    def limit(self, source_tokens: int) -> int:
        """The most tokens that a translation of so many source tokens may have."""
        return min(
            self.max_length, math.ceil(self.length_ratio * source_tokens) + self.length_extra
        )


@dataclass(frozen=True)
class Request:
    """What one sentence's translation must contain.

    Attributes:
        number: identifies the sentence for sampling; the same in each run.
        prefix: tokens that the translation begins with.
        phrases: tokens that must appear in it, each phrase contiguous.
    """

    number: int = 0
    prefix: tuple[int, ...] = ()
    phrases: tuple[tuple[int, ...], ...] = ()

    @property
    def required(self) -> int:
        """How many tokens the prefix and the phrases have."""
        return len(self.prefix) + sum(map(len, self.phrases))
