"""The translation bundle: what a folder must hold to translate without TensorFlow."""
