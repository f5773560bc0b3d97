"""``nmt export --saved-model``: strings in, strings out, in one TensorFlow graph."""
