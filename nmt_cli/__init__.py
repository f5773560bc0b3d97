"""nmt: neural machine translation from the command line."""

import os

# TensorFlow reads these when it is first imported, which Keras does for us in many places.
# oneDNN's matrix products are 1.3 to 2 times faster, but TensorFlow leaves them off on
# processors without AVX-512.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
# Its notes about CUDA and CPU features are not for our users.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

__version__ = "0.1.0"
