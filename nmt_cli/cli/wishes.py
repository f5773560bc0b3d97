"""The options of ``nmt translate`` on what is asked of search and told of its results."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from nmt_cli.search.options import Sampling
    from nmt_cli.search.translator import Translator

Command = Callable[..., Any]

_SEARCH = (
    click.option("--n-best", type=click.IntRange(1, 256), default=1, metavar="N",
        help="Give N translations of each line, best first; a wider --beam-size may be needed."),
    click.option("--coverage-penalty", type=click.FloatRange(0, 10), default=0.0, metavar="BETA",
        help="GNMT's beta: larger for translations that leave out less of the source."),
    click.option("--max-length", type=click.IntRange(2, 10_000), metavar="N",
        help="Tokens of a translation at most; default: the model's."),
    click.option("--min-length", type=click.IntRange(0, 10_000), default=0, metavar="N",
        help="Tokens of a translation at least."),
    click.option("--repetition-penalty", type=click.FloatRange(1, 10), default=1.0, metavar="X",
        help="Multiply log-probabilities of tokens that are there already; 1: do not."),
    click.option("--no-repeat-ngram", type=click.IntRange(0, 100), default=0, metavar="N",
        help="No N tokens twice in the same order."),
    click.option("--prefix", default="", metavar="TEXT", help="Begin each translation with TEXT."),
    click.option("--suppress", multiple=True, metavar="TEXT",
        help="A word or phrase that no translation may have; repeatable."),
    click.option("--unk", type=click.Choice(("keep", "avoid", "copy")), default="keep",
        show_default=True, help="Unknown words: as the model has them, never, or the source's."),
)  # fmt: skip
_SAMPLING = (
    click.option("--sample", is_flag=True, help="Draw tokens at random; --n-best of them."),
    click.option("--top-k", type=click.IntRange(1), metavar="K", help="Draw among the K best."),
    click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), metavar="P",
        help="Draw among the best that have this probability together."),
    click.option("--temperature", type=click.FloatRange(0, 100, min_open=True), metavar="T",
        help="Below 1 the likely becomes likelier."),
    click.option("--seed", type=click.IntRange(0), metavar="N",
        help="Of the draws; default 0. The same line gets the same draws in any company."),
)  # fmt: skip


@dataclass(frozen=True)
class Wishes:
    """What is asked of search beside the best translation, as the user gave it."""

    n_best: int
    coverage_penalty: float
    max_length: int | None
    min_length: int
    repetition_penalty: float
    no_repeat_ngram: int
    prefix: str
    suppress: tuple[str, ...]
    unk: str
    sample: bool
    top_k: int | None
    top_p: float | None
    temperature: float | None
    seed: int | None

    @property
    def sampling(self) -> "Sampling | None":
        """How to draw; None: do not.

        Raises:
            click.UsageError: it is said how, but not that.
        """
        from nmt_cli.search.options import Sampling

        given = {
            name: value
            for name in ("seed", "temperature", "top_k", "top_p")
            if (value := getattr(self, name)) is not None
        }
        if given and not self.sample:
            raise click.UsageError(f"--{next(iter(given)).replace('_', '-')} needs --sample")
        return Sampling(**given) if self.sample else None

    def looks(self, alignments: bool) -> bool:
        """Whether the model must tell what it looks at."""
        return alignments or self.unk == "copy" or self.coverage_penalty > 0


def wish_options(command: Command) -> Command:
    """The options of :class:`Wishes`, which the command gets as ``wishes``."""
    names = Wishes.__dataclass_fields__

    @wraps(command)
    def with_them(**given: Any) -> Any:
        wishes = Wishes(**{name: given.pop(name) for name in names})
        return command(wishes=wishes, **given)

    decorated: Command = with_them
    for option in reversed((*_SEARCH, *_SAMPLING)):
        decorated = option(decorated)
    return decorated


def with_wishes(
    translator: "Translator", wishes: Wishes, beam_size: int | None, alignments: bool
) -> "Translator":
    """A translator that does what is asked of it.

    Args:
        translator: as the model has it.
        wishes: of the user.
        beam_size: as the user gave it, if so.
        alignments: whether to tell which words belong together.

    Raises:
        click.UsageError: the wishes contradict each other.
    """
    from nmt_cli.search.processors import processors_of

    options, sampling = translator.options, wishes.sampling
    if sampling and beam_size is not None:
        raise click.UsageError("--sample follows no beam: leave out --beam-size, or --sample")
    beams = wishes.n_best if sampling else options.beam_size
    if wishes.n_best > beams:
        raise click.UsageError(
            f"--n-best {wishes.n_best} needs a beam of as many; give --beam-size {wishes.n_best}"
        )
    longest = wishes.max_length or options.max_length
    if wishes.min_length >= longest:
        raise click.UsageError(
            f"--min-length {wishes.min_length} leaves no room for the end within {longest} tokens; "
            "give a larger --max-length"
        )
    blank = [each for each in wishes.suppress if not each.strip()]
    if blank:
        raise click.UsageError("--suppress wants a word")
    asked = replace(
        options,
        beam_size=beams,
        max_length=longest,
        n_best=wishes.n_best,
        min_length=wishes.min_length,
        coverage_penalty=wishes.coverage_penalty,
        repetition_penalty=wishes.repetition_penalty,
        no_repeat_ngram=wishes.no_repeat_ngram,
        without_unknown=wishes.unk == "avoid",
        sampling=sampling,
    )
    return replace(
        translator,
        options=asked,
        processors=processors_of(asked, wishes.suppress, translator.tokenizers.target),
        prefix=wishes.prefix,
        alignments=alignments,
        copy_unknown=wishes.unk == "copy",
    )
