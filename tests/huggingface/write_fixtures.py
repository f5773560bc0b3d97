"""Write models.tar.xz: tiny Marian models, and what transformers makes of some lines with them.

    pip install torch transformers safetensors
    python -m tests.huggingface.write_fixtures

The default tests read the archive; tests/huggingface/test_live.py makes new models where torch and
transformers are installed.
"""

import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    MarianConfig,
    MarianMTModel,
    MarianTokenizer,
)

from tests.systems import WORDS

LINES = ["um gato", "dois gatos e três casas, sol", "pão; café", "a", "ÁGUA 12 ☃☃", "  nove  dez "]
MAX_LENGTH = 24
# Options of `write_model` by the name of the model.
MODELS: dict[str, dict[str, Any]] = {
    "shared": {},
    "tags": {"tags": (">>fra<<", ">>pt_BR<<"), "spm": "bpe", "dtype": "bfloat16", "heads": 3},
    "separate": {"separate": True, "dtype": "float16", "config": {"scale_embedding": False}},
    "untied": {
        "config": {"tie_word_embeddings": False, "encoder_layers": 3, "decoder_layers": 1},
        "activation": "relu",
    },
    "separate-untied": {
        "separate": True,
        "activation": "gelu",
        "config": {"tie_word_embeddings": False},
        "torch_file": True,
    },
}


def learn(text: list[str], kind: str, size: int, seed: int) -> bytes:
    """Learn a SentencePiece model as OPUS-MT does, with its own ids."""
    model = io.BytesIO()
    sentencepiece.set_random_generator_seed(seed)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text),
        model_writer=model,
        model_type=kind,
        vocab_size=size,
        hard_vocab_limit=False,
        normalization_rule_name="identity" if kind == "bpe" else "nmt_nfkc",
        minloglevel=2,
    )
    return model.getvalue()


def write_tokenizer(
    folder: Path, rng: np.random.Generator, kind: str, separate: bool, tags: tuple[str, ...]
) -> tuple[int, int]:
    """Write source.spm, target.spm and vocabularies; returns the sizes of these."""
    sides = []
    for name, words in (("source", WORDS), ("target", [each[::-1] for each in WORDS])):
        text = [" ".join(rng.choice([*words, ",", "."], 6)) for _ in range(300)]
        content = learn(text, kind, 70 if kind == "bpe" else 60, seed=1)
        (folder / f"{name}.spm").write_bytes(content)
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(content)
        pieces = [processor.id_to_piece(each) for each in range(3, processor.get_piece_size())]
        # Marian's vocabularies lack pieces that did not occur in the training text.
        sides.append([each for each in pieces if rng.random() > 0.1])
    if not separate:
        both = dict.fromkeys([*sides[0], *sides[1]])
        sides = [sorted(both, key=lambda each: hash_of(each, rng)), []]
    names, sizes = ("vocab.json", "target_vocab.json"), []
    for name, tokens in zip(names, sides, strict=True):
        if tokens:
            entries = ["</s>", "<unk>", *tags, *tokens, "<pad>"]
            ids = {each: number for number, each in enumerate(entries)}
            (folder / name).write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
            sizes.append(len(ids))
    return sizes[0], sizes[-1]


def hash_of(token: str, rng: np.random.Generator) -> float:
    """A number that shuffles tokens."""
    return rng.random()


def write_model(
    folder: Path,
    seed: int = 0,
    heads: int = 2,
    activation: str = "swish",
    spm: str = "unigram",
    separate: bool = False,
    tags: tuple[str, ...] = (),
    dtype: str = "float32",
    torch_file: bool = False,
    config: dict[str, Any] | None = None,
) -> None:
    """Write a model like OPUS-MT's, trained for a few steps, and expected.json."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    source_size, target_size = write_tokenizer(folder, rng, spm, separate, tags)
    if separate:  # padding, end and start are the same ids of both sides
        target_size = pad_vocabularies(folder, source_size, target_size)
        source_size = target_size
    pad = source_size - 1
    keys: dict[str, Any] = {
        "vocab_size": source_size,
        "decoder_vocab_size": target_size,
        "d_model": 8 * heads,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": heads,
        "decoder_attention_heads": heads,
        "encoder_ffn_dim": 40,
        "decoder_ffn_dim": 40,
        "max_position_embeddings": 64,
        "activation_function": activation,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": not separate,
        "pad_token_id": pad,
        "eos_token_id": 0,
        "decoder_start_token_id": pad,
        "forced_eos_token_id": 0,
        "dropout": 0.0,
        "init_std": 0.1,
        **(config or {}),
    }
    model = MarianMTModel(MarianConfig(**keys)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1 and "embed" not in name:
                weight += torch.randn_like(weight) * 0.2
        model.final_logits_bias += torch.randn_like(model.final_logits_bias) * 0.5
        model.final_logits_bias[0, pad] = 0
        for embedding in (model.model.encoder.embed_tokens, model.model.decoder.embed_tokens):
            embedding.weight[pad] = 0
        if not model.config.tie_word_embeddings:
            model.lm_head.weight[pad] = 0
    settings = {"source_lang": "xx", "target_lang": "yy", "separate_vocabs": separate}
    settings["tokenizer_class"] = "MarianTokenizer"
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    train(model, MarianTokenizer.from_pretrained(folder), rng, tags)
    model = model.to(getattr(torch, dtype))
    model.generation_config.update(
        num_beams=4,
        max_length=MAX_LENGTH,
        bad_words_ids=[[pad]],
        renormalize_logits=True,
        length_penalty=1.0,
    )
    model.save_pretrained(folder)
    if torch_file:
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    lines = [*LINES, *(f"{tag} {line}" for tag in tags for line in LINES[:2])]
    (folder / "expected.json").write_text(
        json.dumps(expected(folder, lines), ensure_ascii=False), encoding="utf-8"
    )


def train(
    model: MarianMTModel,
    tokenizer: MarianTokenizer,
    rng: np.random.Generator,
    tags: tuple[str, ...],
    steps: int = 300,
) -> None:
    """Learn to spell words backwards: random models repeat one token, whatever the source."""
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for _ in range(steps):
        words = [rng.choice(WORDS, rng.integers(1, 5)) for _ in range(24)]
        sources = [
            " ".join([*rng.choice(tags, 1), *phrase] if tags else phrase) for phrase in words
        ]
        targets = [" ".join(word[::-1] for word in phrase) for phrase in words]
        batch = tokenizer(sources, text_target=targets, return_tensors="pt", padding=True)
        pads = batch["labels"] == model.config.pad_token_id
        loss = model(**{**batch, "labels": batch["labels"].masked_fill(pads, -100)}).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def pad_vocabularies(folder: Path, *sizes: int) -> int:
    """Add entries to the smaller vocabulary, so that both have the same size and the same PAD."""
    for name in ("vocab.json", "target_vocab.json"):
        ids = json.loads((folder / name).read_text(encoding="utf-8"))
        tokens = [token for token in ids if token != "<pad>"]
        tokens += [f"unused{number}" for number in range(max(sizes) - len(ids))]
        ids = {token: number for number, token in enumerate([*tokens, "<pad>"])}
        (folder / name).write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
    return max(sizes)


def expected(folder: Path, lines: list[str]) -> dict[str, Any]:
    """What transformers makes of lines: ids, translations, and their log-probabilities."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    rows, start = [], model.config.decoder_start_token_id
    never = [each for (each,) in model.generation_config.bad_words_ids or []]
    for line in lines:
        batch = tokenizer([line], return_tensors="pt")
        row: dict[str, Any] = {"line": line, "source": batch["input_ids"][0].tolist()}
        for beams in (1, 4):
            output = model.generate(**batch, num_beams=beams, length_penalty=0.0)
            row[f"beam {beams}"] = output[0, 1:].tolist()
            row[f"text {beams}"] = tokenizer.decode(output[0], skip_special_tokens=True)
        greedy = torch.tensor([[start, *row["beam 1"]]])
        with torch.no_grad():
            logits = model(**batch, decoder_input_ids=greedy[:, :-1]).logits[0]
        logits[:, never] = -torch.inf
        chosen = logits.log_softmax(-1).gather(1, greedy[0, 1:, None])[:, 0]
        row["log_probs"] = [round(each, 6) for each in chosen.tolist()]
        rows.append(row)
    target = [tokenizer.decoder[each] for each in range(len(tokenizer.decoder))]
    source = sorted(tokenizer.encoder, key=tokenizer.encoder.__getitem__)
    longest = model.generation_config.max_length - 1  # which counts START
    return {"rows": rows, "source": source, "target": target, "longest": longest}


def main() -> None:
    """Write the archive next to this file, or into the folder that is the argument."""
    place = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, options) in enumerate(MODELS.items()):
            write_model(Path(folder, name), seed=number, **options)
        with tarfile.open(place / "models.tar.xz", "w:xz") as archive:
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file():
                    archive.add(path, path.relative_to(folder))


if __name__ == "__main__":
    main()
