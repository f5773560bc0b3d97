"""Lines, pairs and tokenizers."""
