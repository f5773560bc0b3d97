"""The Transformer in keras.ops: training model, step graphs, step model."""

import os

# oneDNN's matrix products are 1.3 to 2 times faster, but TensorFlow leaves them off on
# processors without AVX-512. It reads this when it is first imported.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
# Its start-up notes about CUDA and CPU features are not for our users.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
