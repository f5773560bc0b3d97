"""Learn the vocabularies of a corpus."""

import io
import itertools
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import sentencepiece

from nmt_cli.errors import InputError
from nmt_cli.files import replacing_path
from nmt_cli.host import import_keras
from nmt_cli.recipe.config import TokenizerConfig
from nmt_cli.text.sentence_piece import tag_piece
from nmt_cli.text.tokenizer import (
    END_ID,
    PAD_ID,
    START_ID,
    UNK_ID,
    TokenizerPair,
    TokenizerSpec,
    load_tokenizers,
)
from nmt_cli.text.word_piece import RESERVED_TOKENS, SUFFIX_MARK, split_words

logger = logging.getLogger(__name__)

_MAX_LINES = 5_000_000
_MAX_LINE_BYTES = 2**30  # the library's maximum; it drops longer lines
_ERRORS_ONLY = 2
_THREADS = 16  # fixed: the last digits of the scores, and so the pieces, depend on it


def learn_tokenizers(
    config: TokenizerConfig,
    source_lines: Iterable[str],
    target_lines: Iterable[str],
    folder: Path,
    seed: int,
    tag: str = "",
) -> TokenizerPair:
    """Learn the vocabularies of both sides and write them into ``folder``.

    The same lines, config and seed give the same files, byte for byte. A tag becomes one piece of
    the source side's vocabulary (SentencePiece only, which also splits text into characters).
    """
    is_word_piece = config.kind == "wordpiece"
    suffix = ".vocab.txt" if is_word_piece else ".model"
    if config.joint:
        source = target = f"joint{suffix}"
        texts: list[tuple[str, Iterable[str]]] = [
            (source, itertools.chain(source_lines, target_lines))
        ]
    else:
        source, target = f"source{suffix}", f"target{suffix}"
        texts = [(source, source_lines), (target, target_lines)]
    for name, text in texts:
        lines = iter(text)
        first = next(filter(_is_visible, lines), None)
        if first is None:  # sentencepiece 0.2.1 would exit
            raise InputError(f"{name}: no text to learn a vocabulary from")
        lines = itertools.chain([first], lines)
        if is_word_piece:
            content = _word_pieces(config, lines, name)
        else:
            content = _sentence_pieces(config, lines, name, seed, tag if name == source else "")
        with replacing_path(folder / name) as path:
            path.write_bytes(content)
    kind = "wordpiece" if is_word_piece else "sentencepiece"
    TokenizerSpec(kind, source, target, is_word_piece and config.lowercase, tag).write(folder)
    pair = load_tokenizers(folder)
    size = min(pair.source.vocab_size, pair.target.vocab_size)
    if size < config.vocab_size:
        requested = f"tokenizer.vocab_size = {config.vocab_size:,}"
        logger.info(f"the text yields {size:,} pieces, fewer than {requested}")
    return pair


def _is_visible(line: str) -> bool:
    return any(character.isprintable() and not character.isspace() for character in line)


def _sentence_pieces(
    config: TokenizerConfig, lines: Iterator[str], name: str, seed: int, tag: str
) -> bytes:
    model = io.BytesIO()
    sentencepiece.set_random_generator_seed(seed)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=lines,
            model_writer=model,
            model_type="char" if config.kind == "character" else config.model,
            vocab_size=config.vocab_size,
            # Unigram may yield fewer pieces from tiny texts; BPE fails with the possible size.
            hard_vocab_limit=config.model != "unigram",
            byte_fallback=config.byte_fallback,
            character_coverage=config.character_coverage,
            input_sentence_size=_MAX_LINES,
            shuffle_input_sentence=True,
            max_sentence_length=_MAX_LINE_BYTES,
            num_threads=_THREADS,
            pad_id=PAD_ID,
            unk_id=UNK_ID,
            bos_id=START_ID,
            eos_id=END_ID,
            user_defined_symbols=[tag_piece(tag)] if tag else [],
            minloglevel=_ERRORS_ONLY,
        )
    except (RuntimeError, SystemError) as error:
        # "INTERNAL: file.cc(12) [condition] Reason.", where the reason may be empty.
        reason = str(error).rpartition("] ")[2] or "too little text, or too few pieces"
        if needed := re.search(r"required_chars\. \d+ vs (\d+)", reason):
            reason = f"the characters need {needed[1]} pieces"
        raise _unlearnable(config, name, reason) from error
    return model.getvalue()


def _word_pieces(config: TokenizerConfig, lines: Iterator[str], name: str) -> bytes:
    """Do what tensorflow-text's ``bert_vocab_from_dataset`` does, but count words in Python, which
    is faster."""
    import_keras()  # the learner imports TensorFlow without using it
    from tensorflow_text.tools.wordpiece_vocab import wordpiece_tokenizer_learner_lib as learner

    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(split_words(line, lowercase=config.lowercase))
    pieces = learner.learn(counts, config.vocab_size, list(RESERVED_TOKENS))
    # The learner may exceed the size. Drop pieces from the end, where the rarest are, but no single
    # characters: without them, words would become unknown.
    excess, kept = len(pieces) - config.vocab_size, list[str]()
    for piece in reversed(pieces):
        if excess > 0 and piece not in RESERVED_TOKENS and len(piece.removeprefix(SUFFIX_MARK)) > 1:
            excess -= 1
        else:
            kept.append(piece)
    if len(kept) > config.vocab_size:
        reason = f"the characters, at the start of words and inside them, need {len(kept)} pieces"
        raise _unlearnable(config, name, reason)
    return "".join(f"{piece}\n" for piece in reversed(kept)).encode()


def _unlearnable(config: TokenizerConfig, name: str, reason: str) -> InputError:
    return InputError(
        f"{name}: a vocabulary of {config.vocab_size} pieces cannot be learned from this text",
        f"change tokenizer.vocab_size; {reason[0].lower()}{reason[1:].strip().rstrip('.')}",
    )
