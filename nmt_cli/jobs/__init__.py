"""Translation jobs: input files to output files, in one process or on Ray."""
