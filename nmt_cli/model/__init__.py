"""Keras models: shared layers, step graphs, and one folder per architecture."""
