"""From a run to what runs elsewhere: ONNX bundles and SavedModels, verified."""
