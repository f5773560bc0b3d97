"""BLEU and chrF by sacreBLEU."""
