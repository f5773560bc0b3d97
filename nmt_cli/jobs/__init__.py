"""Translation jobs: input files to output files, in one process or on Ray."""

# The forms of records and their classes; plain lines have no name.
FORMS = {
    "tsv": "nmt_cli.jobs.forms:TsvTable",
    "jsonl": "nmt_cli.jobs.forms:JsonLines",
    "csv": "nmt_cli.jobs.forms:CsvTable",
    "parquet": "nmt_cli.jobs.parquet:ParquetTable",
}
