"""``nmt export --onnx``: a bundle for ONNX Runtime, which nmt translate uses without TensorFlow."""
