"""From token arrays to a run folder with trained weights."""
