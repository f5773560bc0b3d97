"""Running bundles on ONNX Runtime."""
