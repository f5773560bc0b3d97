"""Scores of translations, with sacreBLEU."""
