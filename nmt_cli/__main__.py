"""``python -m nmt_cli``, the same as ``nmt``."""

from nmt_cli.cli import main

main()
