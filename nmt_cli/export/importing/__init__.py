"""Make runs of models that other programs or exports wrote: a module for each source."""
