"""SentencePiece subwords: the default tokenizer.

For models of OPUS-MT, punctuation is normalized first, as before their training; transformers does
not do it. The rules are those of sacremoses 0.2 (MosesPunctNormalizer), a port of Moses' script
normalize-punctuation.perl, in the same order. Rules without effect are left out, and neighbours
with the same result are one.
"""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from sentencepiece import SentencePieceProcessor

from nmt_cli.errors import ModelError, first_line
from nmt_cli.files import read_limited
from nmt_cli.text.edits import MappedText, Span
from nmt_cli.text.tokenizer import (
    END_ID,
    MAX_PIECE,
    MAX_VOCABULARY_BYTES,
    PAD_ID,
    SPECIAL_IDS,
    START_ID,
    UNK_ID,
    grouped,
)

# Later versions mix a secret of the process into the seed.
LAST_REPEATABLE = (0, 2, 1)

# Fields of ModelProto, and of NormalizerSpec.
_PIECE, _NORMALIZER, _DENORMALIZER, _RULES_FIELD = 1, 3, 5, 2
_PIECE_KEY = 0x0A  # its number, and that it has a length

_PROTO = "serialized_proto"  # the only form with offsets that all versions of the library have

# Of the punctuation.
_RULES = (
    (r"\r", ""),
    (r"\(", " ("),
    (r"\)", ") "),
    (r" +", " "),
    (r"\) ([.!:?;,])", r")\1"),
    (r"\( ", "("),
    (r" \)", ")"),
    (r"(\d) %", r"\1%"),
    (r" ([:;])", r"\1"),
    (r"`", "'"),
    (r"''", ' " '),
    (r"[„“”]", '"'),
    (r"–", "-"),
    (r"—", " - "),
    (r" +", " "),
    (r"[´‘‚’]", "'"),
    (r"''", '"'),
    (r"…", "..."),
    ("\u00a0«\u00a0|«\u00a0?", '"'),
    ("\u00a0»\u00a0|\u00a0?»", '"'),
    ("\u00a0%", "%"),
    ("nº\u00a0", "nº "),
    ("\u00a0:", ":"),
    ("\u00a0(ºC|cm)", r" \1"),
    ("\u00a0([?!;])", r"\1"),
    (",\u00a0", ", "),
    (r" +", " "),
)
_COMMAS = {
    "en": ((r'"([,.]+)', r'\1"'),),
    **dict.fromkeys(("de", "es", "fr"), ((r',"', '",'), (r'(\.+)"(\s*[^<])', r'"\1\2'))),
}
_DECIMAL_COMMA = ("de", "es", "cz", "cs", "fr")


def tag_piece(tag: str) -> str:
    """Return the vocabulary entry of a tag, which begins with the mark of a space."""
    return f"▁{tag}"


class SentencePieceTokenizer:
    """A tokenizer over one `.model` file, for raw text.

    Attributes:
        special_ids: ids that decoding drops: padding, start, end and the tag's.
    """

    def __init__(self, path: Path, tag: str = "", punctuation: str = "") -> None:
        """See :class:`TokenizerSpec` for the tag, which the model must have, and punctuation."""
        self._processor = _load_processor(path)
        self.vocab_size: int = self._processor.get_piece_size()
        try:
            self._pieces: list[str] = self._processor.id_to_piece(list(range(self.vocab_size)))
            self._processor.decode([UNK_ID])  # the model has its text
        except UnicodeDecodeError:
            raise ModelError(
                f"{path}: has pieces that are not valid UTF-8", "copy it again"
            ) from None
        self.special_ids = SPECIAL_IDS
        self._punctuation = punctuation
        self._tag, self._tag_id = tag, self._processor.piece_to_id(tag_piece(tag))
        if tag:
            if self._tag_id == UNK_ID:
                raise ModelError(f"{path}: has no piece for the tag {tag!r}")
            self.special_ids |= {self._tag_id}

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without start and end."""
        texts = [normalized(line, self._punctuation).text for line in lines]
        return self._processor.encode(texts, out_type=int)

    def sample(self, lines: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Return the ids of each line, split into subwords at random.

        A tag at the start of a line stays whole.

        Args:
            alpha: for unigram, the smoothing of Kudo 2018 (arXiv:1804.10959, section 3.2); for BPE,
                the share of merges left out (Provilkov et al. 2020, arXiv:1910.13267).
            seed: the same seed gives the same splits, in any process.
        """
        version = sentencepiece.__version__
        if tuple(int(part) for part in version.split(".")[:3]) > LAST_REPEATABLE:
            raise ModelError(
                f"sentencepiece {version} draws subwords differently in each process, whatever "
                "the seed",
                "pip install 'sentencepiece<0.2.2', or set training.sample_subwords=0",
            )
        lines = [normalized(line, self._punctuation).text for line in lines]
        # A unigram model would split the tag as well.
        tagged = [bool(self._tag) and line.startswith(f"{self._tag} ") for line in lines]
        cut = len(self._tag) + 1
        texts = [line[cut:] if has else line for line, has in zip(lines, tagged, strict=True)]
        # The library seeds a thread's generator when the thread first draws, and never again.
        sentencepiece.set_random_generator_seed(seed % 2**32)
        options = {"enable_sampling": True, "alpha": alpha, "nbest_size": -1, "num_threads": 1}
        with ThreadPoolExecutor(1) as thread:
            drawn = thread.submit(self._processor.encode, texts, out_type=int, **options).result()
        pairs = zip(drawn, tagged, strict=True)
        return [[self._tag_id, *ids] if has else ids for ids, has in pairs]

    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence; padding, start, end and tag ids are dropped.
        Byte pieces that form no valid UTF-8 become U+FFFD, and the unknown id " ⁇ "."""
        kept = [[i for i in map(int, ids) if i not in self.special_ids] for ids in sequences]
        # The library would take an empty batch for one empty sequence and return "".
        return self._processor.decode(kept) if kept else []

    def spans(self, line: str) -> list[Span]:
        """Return the part of the line that each id of `encode` comes from."""
        text = normalized(line, self._punctuation)
        _, spans = _text_and_spans(self._processor.encode(text.text, out_type=_PROTO))
        return [text.origin(*span) for span in spans]

    def decode_spans(self, ids: Sequence[int]) -> tuple[str, list[Span]]:
        """Return the text of a sequence and the part of it that is each id's."""
        kept = [id_ for id_ in map(int, ids) if id_ not in self.special_ids]
        if not kept:
            return "", [(0, 0)] * len(ids)
        text, decoded = _text_and_spans(self._processor.decode(kept, out_type=_PROTO))
        pieces, spans, end = iter(decoded), list[Span](), 0
        for id_ in map(int, ids):
            start, end = (end, end) if id_ in self.special_ids else next(pieces)
            spans.append((start, end))
        return text, spans

    def with_special_tokens(self, ids: Sequence[int]) -> list[int]:
        """Return the ids followed by EOS."""
        return [*ids, END_ID]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each id; "▁" in a piece is a space."""
        return [self._pieces[int(i)] for i in ids]

    def words(self, ids: Sequence[int]) -> list[list[int]]:
        """Return the positions of each word's pieces: a word begins with a space."""
        return grouped([piece.startswith("▁") for piece in self.tokens(ids)])

    def surfaces(self) -> list[bytes]:
        """Return the bytes that each id adds to a text."""
        surfaces = []
        for token, piece in enumerate(self.tokens(range(self.vocab_size))):
            if token == UNK_ID or token in self.special_ids or self._processor.is_control(token):
                surfaces.append(b"")
            elif self._processor.is_byte(token):  # <0xE2>
                surfaces.append(bytes([int(piece[3:5], 16)]))
            else:
                surfaces.append(piece.replace("▁", " ").encode())
        return surfaces


def _text_and_spans(serialized: bytes) -> tuple[str, list[Span]]:
    """Return the text of a SentencePieceText message, and each piece's part of it."""
    from sentencepiece import sentencepiece_pb2  # translating without alignments does not need it

    message = sentencepiece_pb2.SentencePieceText.FromString(serialized)
    # The library counts bytes, and a hostile model may cut characters.
    numbers = [number for number, character in enumerate(message.text) for _ in character.encode()]
    numbers.append(len(message.text))
    return message.text, [(numbers[piece.begin], numbers[piece.end]) for piece in message.pieces]


@cache
def _rules(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    number = r"\1,\2" if language in _DECIMAL_COMMA else r"\1.\2"
    ends = r"^\s+|(?<!\s)\s+$"
    rules = (*_RULES, *_COMMAS.get(language, ()), ("(\\d)\u00a0(\\d)", number), (ends, ""))
    return tuple((re.compile(pattern), replacement) for pattern, replacement in rules)


def normalized(line: str, language: str) -> MappedText:
    """Normalize punctuation by a language's rules, and strip white space; "" changes nothing."""
    text = MappedText(line)
    for pattern, replacement in _rules(language) if language else ():
        text = text.substituted(pattern, replacement)
    return text


def _load_processor(path: Path) -> SentencePieceProcessor:
    processor, content = SentencePieceProcessor(), read_model(path)
    try:
        processor.LoadFromSerializedProto(content)
    except RuntimeError as error:  # whose message is about the library's own code
        reason = f"{path}: is not a SentencePiece model, or is damaged"
        raise ModelError(reason, "copy it again") from error
    ids = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
    if ids != (PAD_ID, UNK_ID, START_ID, END_ID):
        reason = f"{path}: its padding, unknown, start and end ids are {ids}, not (0, 1, 2, 3)"
        raise ModelError(reason, "train it with pad_id=0, unk_id=1, bos_id=2 and eos_id=3")
    return processor


def read_model(path: Path) -> bytes:
    """Read a SentencePiece model, of which the library checks too little to load any file.

    Raises:
        ModelError: it cannot be read, or has what would end the process or exhaust its memory.
    """
    try:
        content = read_limited(path, MAX_VOCABULARY_BYTES)
        for number, field in _fields(content):
            if number == _PIECE and len(field) > MAX_PIECE:
                raise ValueError(f"a piece has more than {MAX_PIECE:,} bytes")
            if number in (_NORMALIZER, _DENORMALIZER):
                rules = [value for name, value in _fields(field) if name == _RULES_FIELD and value]
                if not all(number == _NORMALIZER and _are_intact(value) for value in rules):
                    raise ValueError("its rules of normalization cannot be used")
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file", "the folder is incomplete") from None
    except (OSError, ValueError, IndexError) as error:
        problem = "it ends too early" if isinstance(error, IndexError) else first_line(error)
        reason = f"{path}: is not a SentencePiece model, or is damaged ({problem})"
        raise ModelError(reason, "copy it again") from None
    return content


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of the fields of a protobuf message that have a length.

    Pieces of less than 128 bytes, nearly all fields, are left out, to save time: the library of
    protobuf takes longer to import than to load a model.
    """
    index = 0

    def number() -> int:
        nonlocal index
        value = shift = 0
        while (byte := message[index]) > 127 and shift < 63:
            value, shift, index = value | (byte & 127) << shift, shift + 7, index + 1
        index += 1
        return value | byte << shift

    while index < len(message):
        key, size = message[index], message[index + 1]
        if key == _PIECE_KEY and size < 128:
            index += 2 + size
            continue
        key = number() & 0xFFFFFFFF
        size = {1: 8, 5: 4}.get(key & 7) or number()
        if key & 7 and size > len(message) - index:
            raise IndexError
        if key & 7 == 2:
            yield key >> 3, message[index : index + size]
        elif key & 7 not in (0, 1, 5):
            raise ValueError("it has fields of unknown types")
        index += size if key & 7 else 0
    if index > len(message):
        raise IndexError


def _are_intact(rules: bytes) -> bool:
    """Check rules of normalization: the size of a trie, the trie, and texts that end in NUL.

    The trie is a double array of darts-clone: the library follows its offsets, and those of the
    texts, wherever they lead.
    """
    end = 4 + int.from_bytes(rules[:4], "little")
    texts = rules[end:]
    longest = max(map(len, texts.decode().split("\0")))
    if end % 1024 != 4 or not texts.endswith(b"\0") or longest > MAX_PIECE:
        return False
    units = np.frombuffer(rules[4:end], "<u4").astype(np.int64)
    children = np.arange(len(units)) ^ ((units >> 10) << ((units & 0x200) >> 6))
    inner = units < 1 << 31
    if (children[inner] >= len(units)).any():
        return False
    values = units[children[inner & (units & 0x100 > 0)]] & 0x7FFFFFFF
    return bool((values < len(texts)).all())


def read_spm(path: Path) -> Any:
    """Read a SentencePiece model as sentencepiece_model_pb2.ModelProto."""
    from sentencepiece import sentencepiece_model_pb2  # translating does not need it

    content, model = read_model(path), sentencepiece_model_pb2.ModelProto()
    try:
        model.ParseFromString(content)
    except Exception as error:  # protobuf's exceptions differ between its versions
        raise ModelError(f"{path}: is not a SentencePiece model, or is damaged") from error
    return model
