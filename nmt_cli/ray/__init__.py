"""Translate corpora on Ray: the files of ``nmt translate --engine ray``, or a data set."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nmt_cli.jobs import shards
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.parquet import ParquetTable
from nmt_cli.jobs.shards import RowTranslator
from nmt_cli.ray.cluster import ActorPoolStrategy, RaySettings, SharedBundle, open_shared
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
        options: None for the model's own settings.
        field: the column, which gets the translations.
        errors: "column" keeps rows that fail and adds their errors in a column.
        workers: maximum number of actors; default: one per core, or per GPU.
        threads: cores to use in all; default: all of the cluster.

    Errors of rows are raised when the data set is read.
    """
    chosen = TranslateOptions(
        field=field,
        input_format="parquet",
        errors=errors,
        language_check=False,  # each batch would be an input
        decoding=options or DecodingOptions(),
    )
    chosen.decoding.check()
    settings = RaySettings(None, threads, workers, device)
    arguments, actor_threads = settings.actors()
    workers = arguments["compute"].max_size
    arguments["compute"] = ActorPoolStrategy(min_size=1, max_size=workers)  # reading needs cores
    bundle = SharedBundle.of(Path(model), copied=True)
    return dataset.map_batches(
        _Batches,
        fn_constructor_args=(bundle, chosen, settings, actor_threads),
        batch_size=shards.ROWS,
        batch_format="pyarrow",
        **arguments,
    )


class _Batches:
    """An actor that translates a column of batches."""

    def __init__(
        self, bundle: SharedBundle, options: TranslateOptions, settings: RaySettings, threads: int
    ) -> None:
        model = open_shared([bundle], settings, threads)
        self._rows = RowTranslator(model.translator(options.decoding), options, "the data set")
        self._form = ParquetTable(options)

    def __call__(self, batch: "pa.Table") -> "pa.Table":
        return self._form.translate_table(batch, 1, self._rows)
