"""Translate lines with a file of text, in batches of 16; input and output are JSON.

A program of its own: with TensorFlow in the process, onnxruntime-extensions crashes.
"""

import json
import sys

import numpy as np
import onnxruntime
import onnxruntime_extensions

if __name__ == "__main__":
    lines, settings = json.load(sys.stdin)
    settings = {name: np.array(value) for name, value in settings.items()}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
    model = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
    results: list[tuple[list[str], list[float]]] = []
    for start in range(0, len(lines), 16):
        text = np.array(lines[start : start + 16], object)
        texts, scores = model.run(["translation", "scores"], {"text": text, **settings})
        results += zip(texts.tolist(), scores.tolist(), strict=True)
    json.dump(results, sys.stdout)
