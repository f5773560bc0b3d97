"""Search over a step model: from lines to translations, whatever runs the model."""
