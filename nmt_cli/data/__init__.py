"""From a recipe's corpora to token arrays and batches."""
