"""Translate a file with CTranslate2 and SentencePiece only, as a whole process.

python plain_ctranslate2.py FOLDER FILE BEAM LIMIT WORKERS THREADS BATCH_TOKENS
"""

import sys
from collections.abc import Callable
from pathlib import Path

import ctranslate2

from nmt_cli.text.tokenizer import load_tokenizers


def translator(
    folder: Path, workers: int, threads: int
) -> Callable[[list[str], int, int, int], list[str]]:
    """Load a model; returns a function of lines, beam size, limit and tokens of a batch."""
    model = ctranslate2.Translator(str(folder), inter_threads=workers, intra_threads=threads)
    tokenizers = load_tokenizers(folder / "tokenizer")
    source, target = tokenizers.source, tokenizers.target
    numbers = {token: at for at, token in enumerate(target.tokens(range(target.vocab_size)))}

    def translate(lines: list[str], beam_size: int, limit: int, batch_tokens: int) -> list[str]:
        found = model.translate_batch(
            [source.tokens(ids) for ids in source.encode(lines)],
            beam_size=beam_size,
            length_penalty=0.0,
            max_batch_size=batch_tokens,
            batch_type="tokens",
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=0,
            return_scores=False,
        )
        return target.decode([[numbers[token] for token in one.hypotheses[0]] for one in found])

    return translate


def main() -> None:
    """Translate the file, and write the translations to stdout."""
    folder, file = Path(sys.argv[1]), Path(sys.argv[2])
    beam_size, limit, workers, threads, batch_tokens = map(int, sys.argv[3:])
    lines = file.read_text(encoding="utf-8").split("\n")[:-1]
    translate = translator(folder, workers, threads)
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.writelines(f"{line}\n" for line in translate(lines, beam_size, limit, batch_tokens))


if __name__ == "__main__":
    main()
