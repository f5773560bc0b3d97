"""Export for Marian and for Firefox's engine."""
