"""From token arrays to a run folder with trained weights."""

RUN = "run.json"  # the file that makes a folder a run
