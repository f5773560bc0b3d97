"""The Transformer in keras.ops: training model, step graphs, step model."""
