"""Recipes: defaults, TOML, overrides, errors and conversion back to TOML."""

import dataclasses
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from nmt_cli.errors import InputError, NmtError, RecipeError
from nmt_cli.options import plain_type
from nmt_cli.recipe.config import Recipe, fingerprint
from nmt_cli.recipe.model import ARCHITECTURES, RecurrentConfig, TransformerConfig
from nmt_cli.recipe.reading import load_recipe, recipe_from


def load(tmp_path: Path, text: str, *overrides: str) -> Recipe:
    path = tmp_path / "r.toml"
    path.write_bytes(text.encode())
    return load_recipe(path, overrides)


def refusal(tmp_path: Path, text: str, *overrides: str) -> NmtError:
    with pytest.raises((RecipeError, InputError)) as caught:
        load(tmp_path, text, *overrides)
    return caught.value


def test_an_empty_recipe_is_all_defaults(tmp_path: Path) -> None:
    recipe = load(tmp_path, "")
    assert recipe == Recipe()
    assert (recipe.model.d_model, recipe.model.heads, recipe.decoding.beam_size) == (256, 8, 4)
    assert (recipe.model.norm, recipe.tokenizer.kind) == ("pre", "sentencepiece")
    assert recipe.label == "model-pt-en"


def test_toml_overrides_only_the_given_keys(tmp_path: Path) -> None:
    recipe = load(
        tmp_path,
        'name = "x"\r\n[data]\r\nsource = "en"\r\ntarget = "pt"\r\ntrain = ["a", "b"]\r\n'
        "dev = 'c'\r\n[training]\r\nlearning_rate = 2\r\n",
    )
    assert recipe.label == "x-en-pt"
    assert recipe.data.train == ("a", "b")
    assert recipe.data.dev == ("c",)  # a string becomes a list
    assert type(recipe.training.learning_rate) is float  # a whole number is accepted
    expected = dataclasses.replace(
        Recipe(name="x"),
        data=dataclasses.replace(
            Recipe().data, source="en", target="pt", train=("a", "b"), dev=("c",)
        ),
        training=dataclasses.replace(Recipe().training, learning_rate=2.0),
    )
    assert recipe == expected


def test_a_recipe_extends_others(tmp_path: Path) -> None:
    (tmp_path / "bases").mkdir()
    (tmp_path / "bases" / "first.toml").write_text(
        "name = 'first'\nseed = 3\n"
        "[data]\ntrain = ['a', 'b']\nweights = {a = 2}\nsources = {a = 'CC0: a', b = 'MIT: b'}\n"
        "[model]\nheads = 4"
    )
    (tmp_path / "bases" / "second.toml").write_text(
        "extends = 'first.toml'\n[data]\nsource = 'en'\ntarget = 'pt'\n[training]\nbeta_1 = 0.5"
    )
    text = (
        "extends = 'bases/second.toml'\nname = ''\n[data]\ntrain = 'c'\nweights = {}\n"
        "sources = {b = 'BSD: b', c = 'CC0: c'}"
    )
    recipe = load(tmp_path, text, "seed=4")
    assert recipe.label == "en-pt"
    assert (recipe.seed, recipe.data.train, recipe.data.weights) == (4, ("c",), {})
    assert recipe.data.sources == {"a": "CC0: a", "b": "BSD: b", "c": "CC0: c"}
    assert (recipe.model.heads, recipe.training.beta_1) == (4, 0.5)


def test_recipes_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text("extends = 'r.toml'")
    message = "b.toml: extends must be the path of another recipe, not 'r.toml'"
    assert message in refusal(tmp_path, "extends = 'b.toml'").message


@pytest.mark.parametrize(
    ("override", "table", "key", "value"),
    [
        ("name=bare words", None, "name", "bare words"),
        ('name="a=b"', None, "name", "a=b"),
        ("seed=7", None, "seed", 7),
        ("model.heads=4", "model", "heads", 4),
        (" model.heads = 4", "model", "heads", 4),
        ("training.adam_epsilon=1e-8", "training", "adam_epsilon", 1e-8),
        ("training.max_minutes=5", "training", "max_minutes", 5.0),
        ("tokenizer.byte_fallback=false", "tokenizer", "byte_fallback", False),
        ("model.norm=post", "model", "norm", "post"),
        ("data.root=/a/b c", "data", "root", "/a/b c"),
        ("data.root=", "data", "root", ""),
        ('data.train=["a", "tfds:b/c:train"]', "data", "train", ("a", "tfds:b/c:train")),
        ("data.train=tfds:b/c:train", "data", "train", ("tfds:b/c:train",)),
        ("data.train=[]", "data", "train", ()),
        ("data.synthetic=corpora/mono.bt", "data", "synthetic", ("corpora/mono.bt",)),
        ("data.synthetic_tag=<BT>", "data", "synthetic_tag", "<BT>"),
        ("data.synthetic_ratio=2", "data", "synthetic_ratio", 2.0),
        ("data.weights={a = 2, 'b.c' = 0.5}", "data", "weights", {"a": 2.0, "b.c": 0.5}),
        ("data.weights.a=2", "data", "weights", {"a": 2.0}),
        ("data.sources.a=CC0: x", "data", "sources", {"a": "CC0: x"}),
    ],
)
def test_overrides_of_every_type(
    tmp_path: Path, override: str, table: str | None, key: str, value: object
) -> None:
    recipe = load(tmp_path, 'name = "old"\n[model]\nheads = 2\n[data]\ntrain = ["z"]\n', override)
    assert getattr(getattr(recipe, table) if table else recipe, key) == value


def test_the_last_override_takes_precedence(tmp_path: Path) -> None:
    recipe = load(tmp_path, "[model]\nheads = 2\n", "model.heads=4", "model.heads=16")
    assert recipe.model.heads == 16


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[model]\nhead = 4", "r.toml: unknown key 'model.head'", "did you mean 'model.heads'?"),
        ("[modle]\nheads = 4", "unknown key 'modle'", "did you mean 'model'?"),
        ("heads = 4", "unknown key 'heads'", "did you mean 'model.heads'?"),
        ("[training]\nheads = 4", "unknown key 'training.heads'", "did you mean 'model.heads'?"),
        ("[model]\nseed = 4", "unknown key 'model.seed'", "did you mean 'seed' outside of any"),
        ("[decoding]\nmax_tokens = 4", "'decoding.max_tokens'", "did you mean 'data.max_tokens'?"),
        (
            "[model]\nzzz = 4",
            "unknown key 'model.zzz'",
            "known keys: activation, activation_dropout",
        ),
        ("model = 4", "r.toml: 'model' must be a table", "write [model]"),
        ("[data]\nweights = {a = 0}", "table of numbers above 0, not {'a': 0}", ""),
        (
            "extends = 1",
            "extends must be the path of another recipe, not 1",
            "paths start at",
        ),
        (
            "extends = 'r.toml'",
            "must be the path of another recipe, not 'r.toml'",
            "paths start at",
        ),
        ("extends = 'b.toml'", "b.toml: no such recipe", "see the recipes/ folder"),
        (
            "[data]\nlowercase = 0.6\nunpunctuated = 0.5",
            "uppercase, unpunctuated and symbols together exceed 1: (0.6, 0.0, 0.5, 0.0)",
            "lower one of them",
        ),
        ("[model]\nnorm = 'prex'", "model.norm must be one of pre, post", "did you mean 'pre'?"),
        ("[model]\nheads = 0", "model.heads must be at least 1, not 0", ""),
        (
            "[model]\nd_model = 100\nheads = 8",
            "model.d_model = 100 is not divisible by heads = 8",
            "try model.heads=10",
        ),
        (
            "[model]\nstart = 'zero'",
            "model.start = 'zero' needs a bias of the softmax, which excludes the start token",
            "set model.output_bias=true",
        ),
        (
            "[model]\nd_model = 9\nheads = 3",
            "model.d_model = 9 must be even",
            "try model.d_model=10",
        ),
        (
            "[model]\narchitecture = 'rnm'",
            "model.architecture must be one of transformer, rnn, not 'rnm'",
            "did you mean 'rnn'?",
        ),
        (
            "[model]\nattention = 'bahdanu'",
            "model.attention must be one of luong-general,",
            "did you mean 'bahdanau'?",
        ),
        ("[model]\npad_ids = [1]", "model.pad_ids = [1] must be ids of tokens, 0 among", "e.g."),
        ("[model]\npad_ids = [0, -1]", "model.pad_ids = [0, -1] must be ids", "e.g."),
        ("[model]\npad_ids = [0, 2]", "2 and 3 (start and end) not", "e.g. model.pad_ids=[0]"),
        (
            "[model]\npad_ids = [0, 8000]",
            "pad_ids has 8000, but the ids end before tokenizer.vocab_size = 8000",
            "use smaller",
        ),
        (
            "[model]\npositions = 'learned'\nmax_positions = 100",
            "model.max_positions = 100 is less than the 256 tokens that decoding.max_length allows",
            "lower decoding.max_length, or set model.max_positions=256",
        ),
        (
            "[model]\npositions = 'learned'\nmax_positions = 129\n[decoding]\nmax_length = 100",
            "model.max_positions = 129 is less than the 130 tokens that decoding.max_source",
            "lower decoding.max_source, or set model.max_positions=130",
        ),
        (
            "[tokenizer]\njoint = false",
            "model.embeddings = 'all' needs one joint vocabulary",
            "set tokenizer.joint=true or model.embeddings=target-softmax",
        ),
        ("[data]\nsource = 'en'", "data.source and data.target are both 'en'", ""),
        *(
            (
                f"[data]\nsynthetic_tag = '{tag}'",
                f"between < and >, without white space, not '{tag}'",
                "e.g.",
            )
            for tag in ("BT", "<B T>", "<>", "<ção>", "<BT> ", "casa")
        ),
        (
            "[data]\nsynthetic_tag = '<BT>'\n[tokenizer]\nkind = 'wordpiece'",
            "data.synthetic_tag needs tokenizer.kind = 'sentencepiece', not 'wordpiece'",
            "change tokenizer.kind, or leave data.synthetic_tag out",
        ),
        ("name = 'a/b'", "must be usable as the name of a folder", ""),
        ("[training]\nbatch_tokens = 127", "smaller than one sentence", "raise the first"),
        (
            "[training]\nbatch_tokens = 255\nr_drop = 5",
            "smaller than two copies (training.r_drop) of one sentence of data.max_tokens = 128",
            "raise the first",
        ),
        (
            "[training]\nschedule = 'cosine'\nmax_steps = 4000",
            "training.warmup_steps = 4000 leaves none of training.max_steps = 4000",
            "lower the first",
        ),
        (
            "[model]\narchitecture = 'rnn'\nattention = 'bahdanau'\nattention_scale = true",
            "model.attention_scale = true needs attention = 'luong-general' or 'luong-dot', not "
            "'bahdanau'",
            "set model.attention_scale=false",
        ),
        (
            "[model]\narchitecture = 'rnn'\nattention = 'none'\nattention_scale = true",
            "model.attention_scale = true needs attention = 'luong-general' or 'luong-dot', not "
            "'none'",
            "set model.attention_scale=false",
        ),
        (
            "[model]\narchitecture = 'rnn'\nattention = 'none'\nattentional_vector = false",
            "model.attentional_vector = false adds a context, but attention = 'none' has none",
            "set model.attentional_vector=true",
        ),
        ("[training]\naverage = 4", "training.average = 4 needs", "set training.keep=4"),
        (
            "[training]\nsample_subwords = 0.1\n[tokenizer]\nkind = 'wordpiece'",
            "training.sample_subwords needs tokenizer.kind = 'sentencepiece', not 'wordpiece'",
            "change tokenizer.kind, or leave training.sample_subwords out",
        ),
        (
            "[training]\nsample_subwords = 0.1\n[tokenizer]\nkind = 'character'",
            "training.sample_subwords needs tokenizer.kind = 'sentencepiece', not 'character'",
            "change tokenizer.kind, or leave training.sample_subwords out",
        ),
        ("[data]\nover_max_tokens = 'cut'", "data.over_max_tokens", ""),
    ],
)
def test_errors_name_file_key_and_fix(tmp_path: Path, text: str, message: str, hint: str) -> None:
    error = refusal(tmp_path, text)
    assert error.message.startswith(f"{tmp_path / 'r.toml'}: ")
    assert message in error.message
    assert error.hint.startswith(hint) if hint else not error.hint


def test_keys_of_other_architectures_are_checked_and_ignored(tmp_path: Path) -> None:
    text = "[model]\narchitecture = 'rnn'\nheads = 3\nencoder_cell = 'gru'\n"
    recipe = load(tmp_path, text, "model.norm=post")
    assert recipe.model == RecurrentConfig(encoder_cell="gru")
    assert load(tmp_path, "", "model.encoder_cell=gru") == Recipe()
    assert "heads" not in recipe.dump()
    assert "model.heads must be" in refusal(tmp_path, text, "model.heads=0").message
    assert "'model.head'" in refusal(tmp_path, text, "model.head=1").message


def test_the_hint_on_heads_is_a_divisor(tmp_path: Path) -> None:
    hint = refusal(tmp_path, "", "model.d_model=254", "model.heads=8").hint
    assert 254 % int(hint.removeprefix("try model.heads=").partition(",")[0]) == 0


def test_valid_combinations(tmp_path: Path) -> None:
    for embeddings in ("target-softmax", "none"):
        load(tmp_path, f"[tokenizer]\njoint = false\n[model]\nembeddings = '{embeddings}'")
    load(tmp_path, "[training]\nbatch_tokens = 128")
    load(tmp_path, "[model]\narchitecture = 'rnn'\nattention = 'none'")
    load(tmp_path, "[training]\nschedule = 'constant'\nwarmup_steps = 9\nmax_steps = 5")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.heads", "`set=model.heads`: not of the form KEY=VALUE"),
        ("=4", "`set==4`: not of the form KEY=VALUE"),
        ("name.x=4", "`set=name.x=4`: 'name' is not a table"),
        ("model.heads=four", "model.heads must be a whole number, not 'four'"),
    ],
)
def test_bad_overrides(tmp_path: Path, override: str, message: str) -> None:
    assert message in refusal(tmp_path, "name = 'n'", override).message


def test_files_that_are_not_recipes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: no such recipe"):
        load_recipe(tmp_path / "none.toml")
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)"):
        load_recipe(tmp_path)
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'name = "a\xe7\xe3o"')
    with pytest.raises(InputError, match=r"latin\.toml: not valid TOML in UTF-8: .*byte 0xe7"):
        load_recipe(latin)
    assert "r.toml: not valid TOML in UTF-8: " in refusal(tmp_path, "[model\nheads = 4").message
    assert "line 2" in refusal(tmp_path, "name = 'a'\nname = 'b'\n").message


def values(kind: Any) -> st.SearchStrategy:
    """Return a strategy for any valid value of a setting's type."""
    plain = plain_type(kind)
    limits = next((part for part in get_args(kind) if isinstance(part, Meta)), Meta())
    if get_origin(plain) is Literal:
        return st.sampled_from(get_args(plain))
    if plain is int:
        return st.integers(limits.ge, limits.le)
    if plain is float:
        return st.floats(limits.ge, limits.le, allow_infinity=False)
    if plain is bool:
        return st.booleans()
    if plain is str:
        return st.text(st.characters(codec="utf-8"))
    if get_origin(plain) is tuple:
        return st.lists(values(get_args(plain)[0])).map(tuple)
    number = st.floats(1e-6, 1e6)
    text = values(str)
    return st.dictionaries(text, text if plain == dict[str, str] else number)


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    kinds = {field.name: field.type for field in dataclasses.fields(Recipe)}
    kinds["model"] = draw(st.sampled_from(list(ARCHITECTURES.values())))
    sections = {
        name: kind(**{f.name: draw(values(f.type)) for f in dataclasses.fields(kind) if f.init})
        for name, kind in kinds.items()
        if dataclasses.is_dataclass(kind)
    }
    name = draw(st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1))
    recipe = Recipe(name=name, seed=draw(st.integers(0)), **sections)
    model, training, decoding = recipe.model, recipe.training, recipe.decoding
    # Some fields depend on others.
    model = dataclasses.replace(model, d_model=2 + model.d_model // 4 * 2, embeddings="none")
    if isinstance(model, TransformerConfig):
        model = dataclasses.replace(
            model,
            heads=1 + model.heads % 1000,
            d_model=2 + model.heads % 1000 * 2,
            pad_ids=(0, *(pad_id % 4 for pad_id in model.pad_ids if pad_id % 4 < 2)),
            max_positions=max(2, decoding.max_length, decoding.max_source + 2),
        )
    else:
        model = dataclasses.replace(model, attention_scale=False, attentional_vector=True)
    return dataclasses.replace(
        recipe,
        model=model,
        data=dataclasses.replace(
            recipe.data,
            source="pt",
            target="en",
            max_tokens=2,
            synthetic_tag="",
            lowercase=0.0,
            uppercase=0.0,
            symbols=0.0,
        ),
        training=dataclasses.replace(
            training,
            batch_tokens=training.batch_tokens + 4,
            schedule="inverse-sqrt",
            average=0,
            sample_subwords=0.0,
        ),
    )


@given(recipes())
def test_dump_and_load_are_inverse(recipe: Recipe) -> None:
    assert recipe_from(tomllib.loads(recipe.dump()), "dump") == recipe


@pytest.mark.parametrize("odd", ["\x7f", "\0", "\r\n", '"\\', "\u2028", "é🂡", "#", "'''"])
def test_odd_strings_survive_a_file(tmp_path: Path, odd: str) -> None:
    recipe = Recipe(name=odd)
    assert load(tmp_path, recipe.dump()) == recipe


def test_fingerprints_depend_on_settings() -> None:
    base = fingerprint(Recipe(), 1)
    assert base == fingerprint(Recipe(), 1) != fingerprint(Recipe(seed=2), 1)
    assert base != fingerprint(Recipe(), 2)
