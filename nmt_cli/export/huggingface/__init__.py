"""Marian models of Hugging Face's transformers, in and out; neither needs transformers."""
