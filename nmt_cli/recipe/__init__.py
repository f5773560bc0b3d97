"""Recipes: what to train, on what, and how."""
