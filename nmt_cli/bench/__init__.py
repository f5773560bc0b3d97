"""How fast a model translates, beside CTranslate2 with the same weights."""
