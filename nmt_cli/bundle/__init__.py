"""The translation bundle: a folder that translates without TensorFlow.

manifest.json    described by nmt_cli.bundle.manifest
encoder.onnx     source ids to the encoder's output
decoder.onnx     one step of the search
append.onnx      appends to caches and selects sentences, for caches on a device
attention.onnx   one step of the search with attention weights; optional
self_attention.onnx  self-attention of a sentence and its translation; optional
shortlist.*      tokens that may translate each source token; optional, with two graphs:
columns.onnx     the softmax layer's columns of a sentence's shortlist
shortlist.onnx   one step of the search over shortlists
weights.bin      the weights of all graphs, each matrix once (ONNX external data)
tokenizer/       described by nmt_cli.text.tokenizer
MODEL_CARD.md    the manifest for people
"""

MANIFEST = "manifest.json"
ENCODER = "encoder.onnx"
DECODER = "decoder.onnx"
APPEND = "append.onnx"
ATTENTION, SELF_ATTENTION = "attention.onnx", "self_attention.onnx"
COLUMNS = "columns.onnx"
SHORTLIST = "shortlist.onnx"
LEXICON = "shortlist.bin"
WEIGHTS = "weights.bin"
TOKENIZER = "tokenizer"
PRECISIONS = ("float32", "int8", "float16")
