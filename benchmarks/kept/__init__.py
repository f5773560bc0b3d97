"""Families of small inputs that show what a translation loses: words, links, digits, lines.

    python -m benchmarks.kept NMT BUNDLES [FAMILY...] [--before OTHER_NMT] [--show N]

NMT is a command such as .venv/bin/nmt; BUNDLES a folder with pt-en and en-pt. Each family is some
40 to 100 inputs, the same on every machine. For an input with words, NMT also translates the same
sentences without the marks, signs or tags of the family: what the model can translate there must
be in the translation of the input, too. So a failure is a fault of what is around the model, or of
its training on signs, and not a word that it does not know.

With `--before`, both commands translate the same inputs with the same bundles.
"""
