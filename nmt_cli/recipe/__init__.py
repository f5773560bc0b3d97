"""Recipes: settings of a model, its data, training and search."""
