"""Translate corpora on Ray: the files of ``nmt translate --engine ray``, or a data set."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nmt_cli.errors import silent
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.translate import Counts
from nmt_cli.ray.cluster import ActorPoolStrategy, Cluster, SharedBundle, open_shared
from nmt_cli.ray.shards import ShardTranslator
from nmt_cli.search.options import DecodingOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset


def translate(
    dataset: "Dataset",
    model: str | Path,
    options: DecodingOptions | None = None,
    *,
    field: str = "text",
    errors: Literal["strict", "column"] = "strict",
    workers: int | None = None,
    threads: int | None = None,
    device: str = "cpu",
) -> "Dataset":
    """Translate a column of a data set; all other columns stay.

    Ray must be initialized. Each actor loads the bundle once, each node stores it once.

    Args:
        dataset: of any source that Ray Data reads.
        model: a bundle.
        options: decoding options; None for the model's own settings.
        field: the column, which gets the translations.
        errors: "strict", or "column" to keep rows that fail and add their errors in a column.
        workers: actors at most; default: one per core, or per GPU.
        threads: cores to use in all; default: those of the cluster.
        device: "cpu", "cuda", or "auto".

    Raises:
        OptionError: the options contradict each other.
        NmtError: the model is not a bundle, or there is no GPU. Errors of rows are raised when the
            data set is read.
    """
    chosen = TranslateOptions(
        field=field, input_format="parquet", errors=errors, decoding=options or DecodingOptions()
    )
    chosen.decoding.check()
    cluster = Cluster(None, threads, workers, device)
    arguments, each = cluster.actors()
    most = arguments["compute"].max_size
    arguments["compute"] = ActorPoolStrategy(min_size=1, max_size=most)  # reading needs cores, too
    return dataset.map_batches(
        _Rows,
        fn_constructor_args=(SharedBundle.of(Path(model), copied=True), chosen, cluster, each),
        batch_size=cluster.rows,
        batch_format="pyarrow",
        **arguments,
    )


class _Rows:
    """An actor that translates a column of batches."""

    def __init__(
        self, bundle: SharedBundle, options: TranslateOptions, cluster: Cluster, threads: int
    ) -> None:
        model = open_shared([bundle], cluster, threads, silent)
        translator = model.translator(options.decoding)
        self._translating = ShardTranslator(translator, options, "the data set")

    def __call__(self, batch: "pa.Table") -> "pa.Table":
        return self._translating.table(batch, 1, Counts())
