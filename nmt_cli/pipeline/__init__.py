"""Text through a translator: what comes in, in which form, and where it goes."""
