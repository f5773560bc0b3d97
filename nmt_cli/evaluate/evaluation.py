"""All that is found out about systems on one text, and how it is written down."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nmt_cli.evaluate.breakdown import Bucket, by_domain, by_length
from nmt_cli.evaluate.counts import METRICS, count
from nmt_cli.evaluate.systems import Result, System, compare
from nmt_cli.evaluate.texts import EvaluationText
from nmt_cli.evaluate.worst import Sentence, worst_sentences

SCORE_COLUMNS = ("text", "metric", "score", "low", "high", "p", "system", "signature")
BUCKET_COLUMNS = ("text", "by", "bucket", "sentences", *METRICS, "system")
WORST_COLUMNS = ("text", "system", "line", "chrF++", "what", "sentence")
BY = ("length", "domain")


@dataclass(frozen=True)
class Evaluation:
    """Systems on one text.

    Attributes:
        sentences: of the text.
        references: how many the text has.
        buckets: by "length" or "domain", as far as they were asked for.
        worst: each system's worst sentences, if they were asked for.
    """

    text: str
    sentences: int
    references: int
    results: list[Result]
    buckets: dict[str, list[Bucket]]
    worst: list[Sentence]

    def tree(self) -> dict[str, Any]:
        """For JSON: the attributes as they stand here."""
        return asdict(self)

    def score_rows(self) -> Iterator[list[str]]:
        """A row for each metric and system, of SCORE_COLUMNS."""
        for each in self.results:
            numbers = [f"{value:.2f}" for value in (each.score, each.low, each.high)]
            p = "-" if each.p is None else f"{each.p:.3f}"
            yield [self.text, each.metric, *numbers, p, each.system, each.signature]

    def bucket_rows(self) -> Iterator[list[str]]:
        """A row for each bucket and system, of BUCKET_COLUMNS."""
        for by, buckets in self.buckets.items():
            for bucket in buckets:
                for system, scores in bucket.scores.items():
                    numbers = [f"{scores[metric]:.2f}" for metric in METRICS]
                    yield [self.text, by, bucket.label, str(bucket.sentences), *numbers, system]

    def worst_rows(self) -> Iterator[list[str]]:
        """Three rows or so for each sentence, of WORST_COLUMNS, so that its texts align."""
        for each in self.worst:
            texts = [] if each.source is None else [("source", each.source)]
            texts += [("reference", reference) for reference in each.references]
            texts.append(("translation", each.translation))
            for what, text in texts:
                yield [self.text, each.system, str(each.line), f"{each.score:.2f}", what, text]


def evaluate_systems(
    text: EvaluationText, translations: dict[str, list[str]], by: Sequence[str], worst: int
) -> Evaluation:
    """Score systems on a text.

    Args:
        text: with domains if ``by`` has them.
        translations: of the text by each system; the first is the baseline.
        by: of BY.
        worst: sentences of each system to show; 0 for none.
    """
    systems = [
        System(name, lines, count(lines, text.references)) for name, lines in translations.items()
    ]
    buckets = {}
    if "length" in by:
        lines = text.references[0] if text.source is None else text.source
        buckets["length"] = by_length(lines, systems)
    if "domain" in by and text.domains:
        buckets["domain"] = by_domain(text.domains, systems)
    return Evaluation(
        text.name,
        len(text),
        len(text.references),
        compare(systems),
        buckets,
        worst_sentences(text, systems, worst) if worst else [],
    )
