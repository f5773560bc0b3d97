"""Each architecture memorizes a small task, and its bundle translates the same way."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from nmt_cli.cli import cli
from tests.systems import WORDS

TEMPLATE = """
name = "toy"
[data]
source = "xx"
target = "yy"
train = ["train"]
dev = ["train"]
[tokenizer]
{tokenizer}
character_coverage = 1.0
[model]
d_model = 64
dropout = 0.0
{model}
[training]
batch_tokens = 512
max_steps = 700
warmup_steps = 100
learning_rate = 0.3
schedule = "linear"
label_smoothing = 0.0
clip_norm = 1.0
validate_every = 350
validate_sentences = 120
metric = "bleu"
[decoding]
max_length = 32
"""
# One model of each kind of decoder.
INT8 = ("tutorial", "deep encoder, SSRU, SwiGLU, learned positions", "Luong")
TRANSFORMER = "feed_forward = 128\nheads = 4\n"
# Keys of [tokenizer], keys of [model].
ARCHITECTURES = {
    "tutorial": (
        'kind = "wordpiece"\nvocab_size = 120\njoint = false',
        TRANSFORMER + "encoder_layers = 2\ndecoder_layers = 2\nkey_dim = 64\nvalue_dim = 64\n"
        'norm = "post"\npositions = "concatenated"\nembeddings = "none"',
    ),
    "deep encoder, SSRU, SwiGLU, learned positions": (
        "vocab_size = 320",
        TRANSFORMER + 'encoder_layers = 4\ndecoder_layers = 1\nactivation = "swiglu"\n'
        'decoder = "ssru"\npositions = "learned"\nmax_positions = 130\nattention_bias = false',
    ),
    "Luong": (
        "vocab_size = 320",
        'architecture = "rnn"\nencoder_layers = 1\ndecoder_layers = 2\nattention = "luong-general"',
    ),
    "Bahdanau, WordPiece": (
        'kind = "wordpiece"\nvocab_size = 120\njoint = false',
        'architecture = "rnn"\nencoder_layers = 1\ndecoder_layers = 1\nencoder_cell = "gru"\n'
        'decoder_cell = "gru"\nattention = "bahdanau"\ninput_feeding = false\n'
        'embeddings = "none"',
    ),
    "no attention": (
        "vocab_size = 320",
        'architecture = "rnn"\nencoder_layers = 1\ndecoder_layers = 1\nattention = "none"',
    ),
    "Luong, scaled, the sum": (
        "vocab_size = 320",
        'architecture = "rnn"\nencoder_layers = 1\ndecoder_layers = 1\nattention = "luong-dot"\n'
        "attention_scale = true\nattentional_vector = false",
    ),
}


def write_task(folder: Path) -> tuple[list[str], list[str]]:
    """Write lines of words; the target is the same words followed by their reverse."""
    rng = np.random.default_rng(4)
    lines = [list(rng.choice(WORDS, rng.integers(2, 6))) for _ in range(120)]
    source = [" ".join(line) for line in lines]
    target = [" ".join([*line, *line[::-1]]) for line in lines]
    for suffix, text in (("xx", source), ("yy", target)):
        (folder / f"train.{suffix}").write_text("".join(f"{row}\n" for row in text))
    return source, target


def nmt(*words: str) -> None:
    if words[0] == "translate":  # the task itself repeats words
        words = (*words, "--no-repeat-ngram", "0")
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_an_architecture_learns_and_exports(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tokenizer, model = ARCHITECTURES[name]
    recipe = TEMPLATE.format(tokenizer=tokenizer, model=model)
    (tmp_path / "toy.toml").write_text(recipe)
    _, target = write_task(tmp_path)
    nmt("train", "toy.toml", "-o", "run")
    nmt("translate", "train.xx", "-m", "run", "-o", "keras.yy")
    keras_lines = Path("keras.yy").read_text().splitlines()
    assert keras_lines == target  # every line is memorized
    attends = name != "no attention"
    nmt("export", "run", "--onnx", *(["--attention"] if attends else []), "-o", "bundle")
    nmt("translate", "train.xx", "-m", "bundle", "-o", "onnx.yy")
    assert Path("onnx.yy").read_text().splitlines() == keras_lines
    if name in INT8:  # verification passes
        nmt("export", "run", "--onnx", "--quantize", "int8", "-o", "int8_bundle")
        nmt("translate", "train.xx", "-m", "int8_bundle", "-o", "int8.yy")
        int8_lines = Path("int8.yy").read_text().splitlines()
        correct = sum(left == right for left, right in zip(int8_lines, target, strict=True))
        assert correct >= 0.95 * len(target)
    if attends:
        nmt("plot", "alignment", "um gato", "-m", "bundle", "-o", "alignment.png")
