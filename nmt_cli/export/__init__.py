"""From a trained model to files that others can run."""
