"""From text to a run: nmt quickstart, prepare, train, average, import, backtranslate, distill."""

import json
import os
import shlex
import shutil
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import click
from msgspec import Meta

from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.packages import model_folder
from nmt_cli.cli import lookup
from nmt_cli.cli.options import INPUT, PATH, Hardware, command, decoding_options, option_group, say
from nmt_cli.errors import OptionError
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.options import option
from nmt_cli.search.options import DecodingOptions
from nmt_cli.training.job import TrainOptions, run_training

QUICKSTART_RECIPE = "phrasebook"
SENTENCES = (
    "Onde fica a farmácia?",
    "Nós vamos ao mercado amanhã.",
    "Ela não quer duas maçãs verdes.",
)


@command(example="nmt quickstart")
@click.pass_context
def quickstart(context: click.Context) -> None:
    """Train, evaluate, export and use a small model in about two minutes.

    It translates the phrases of the built-in phrasebook. Each command is printed before it runs.
    Needs the extra train.
    """
    from nmt_cli.cli.analyse import evaluate
    from nmt_cli.cli.export import export
    from nmt_cli.cli.use import translate

    if find_spec("tf2onnx") is None:  # otherwise, the export would fail after the training
        raise ModuleNotFoundError(name="tf2onnx")
    began = time.monotonic()
    recipe = lookup.find_recipe(QUICKSTART_RECIPE)
    steps, label = recipe.training.max_steps, recipe.label
    say(
        f"Training a small model for {steps:,} steps takes about two minutes on two idle cores.\n"
        "Expect 90 BLEU or more: the test sentences are of the same simple kinds."
    )
    run, bundle = Path("runs", label), Path("exports", label)
    sample = run / "sample.pt"
    for step, words in (
        (prepare, [QUICKSTART_RECIPE]),
        (train, [QUICKSTART_RECIPE, "--force"]),
        (evaluate, ["-m", str(run)]),
        (export, [str(run), "--onnx", "-o", str(bundle), "--force"]),
        (translate, ["-m", str(bundle), str(sample)]),
    ):
        if step is translate:
            sample.write_text("".join(f"{line}\n" for line in SENTENCES), encoding="utf-8")
            say("\n" + "\n".join(f"  {line}" for line in SENTENCES))
        say(f"\n$ nmt {step.name} {' '.join(words)}")
        step.main(words, parent=context, standalone_mode=False)
    say(f"\nDone in {time.monotonic() - began:.0f} s. Translate your own sentences:")
    say(f"$ echo 'Onde fica a farmácia?' | {_this_program()} translate -m {bundle}")


def _this_program() -> str:
    """Return how to call nmt in the user's shell: its PATH may not have the nmt that runs now."""
    program = shutil.which("nmt")
    if program and Path(program).resolve() == Path(sys.argv[0]).resolve():
        return "nmt"
    if not os.access(sys.argv[0], os.X_OK):
        return f"{shlex.quote(sys.executable)} -m nmt_cli"
    path, folder = Path(sys.argv[0]).absolute(), Path.cwd()
    return shlex.quote(str(path.relative_to(folder) if path.is_relative_to(folder) else path))


@command(example="nmt prepare docs-pt-en --set data.root=corpora")
@click.argument("recipe")
def prepare(
    recipe: str,
    overrides: tuple[str, ...] = lookup.OVERRIDES,
    output: Path | None = option(None, "Folder to write; default: prepared/NAME.", flags="-o"),
    force: bool = option(False, "Prepare again even if the folder is up to date."),
) -> None:
    """Clean a recipe's text, learn its vocabulary and write token arrays.

    A second run with the same inputs does nothing.
    """
    from nmt_cli.data.prepare import prepare as prepare_data

    loaded = lookup.find_recipe(recipe, overrides)
    prepare_data(loaded, output or lookup.PREPARED / loaded.label, force)


@command(example="nmt train docs-pt-en --set data.root=corpora --resume")
@click.argument("recipe", default=lookup.DEFAULT_RECIPE)
@option_group(TrainOptions, "options")
def train(
    recipe: str, options: TrainOptions, overrides: tuple[str, ...] = lookup.OVERRIDES
) -> None:
    """Train a model from a recipe.

    RECIPE is a file or the name of one that comes with nmt; default: ted-pt-en. Ctrl-C saves a
    checkpoint; --resume continues from it.
    """
    words = ["nmt", "train", recipe]
    words += [word for override in overrides for word in ("--set", override)]
    folder = run_training(lookup.find_recipe(recipe, overrides), options, words)
    if not options.process_id:
        say(f"run written to {folder}; next: nmt export {folder} --onnx")


@command(example="nmt average runs/docs-pt-en --last 3")
@click.argument("run", required=False, type=PATH)
def average(
    run: Path | None,
    last: Annotated[int, Meta(ge=2)] | None = option(
        None, "Number of newest checkpoints to average; default: all that the run keeps."
    ),
    checkpoint: tuple[Path, ...] = option((), "Average these files instead; repeatable."),
    output: Path | None = option(
        None, "Checkpoint to write; default: RUN/average.npz.", flags="-o"
    ),
    force: bool = option(False, "Replace an existing file."),
) -> None:
    """Average the last checkpoints of a run into one.

    RUN is the newest under runs/ by default. The mean of a training's last checkpoints often
    translates better than each of them. Export it with nmt export --checkpoint.
    """
    from nmt_cli.training.run import Run, average_run

    folder = lookup.find_run(run)
    written, paths = average_run(Run.open(folder), last, checkpoint, output, force)
    names = ", ".join(path.name for path in paths)
    say(f"{written}: average of {names}; next: nmt export {folder} --checkpoint {written} --onnx")


@command(name="import", example="nmt import opus-mt-en-de")
@click.argument("model", type=PATH)
def import_(
    model: Path,
    source: str | None = option(None, "Source language, if the model does not name it."),
    target: str | None = option(None, "Target language, if the model does not name it."),
    output: Path | None = option(None, "Run folder to write; default: runs/NAME.", flags="-o"),
    dev: str | None = option(
        None,
        "Text that calibrates and verifies exports: PREFIX.SOURCE and PREFIX.TARGET.",
        metavar="PREFIX",
    ),
    force: bool = option(False, "Replace an existing run."),
    normalize_punctuation: bool = option(
        False, "Normalize the punctuation of sources, as OPUS-MT did before training."
    ),
) -> None:
    """Make a run of a bundle, or of a model of Marian, Firefox or OPUS-MT.

    MODEL is a bundle or the name of an installed one; a model of Marian: its .npz or .bin file, its
    folder, or OPUS-MT's archive (.zip); or a Marian model from Hugging Face: a folder with
    model.safetensors, or with pytorch_model.bin if torch is installed. All other commands take the
    run; nmt train --init-from trains it further.
    """
    folder = model_folder(model, "file, folder or installed model")
    if (folder / MANIFEST).exists():
        if source or target or normalize_punctuation:
            names = "`source`, `target` and `normalize_punctuation`"
            raise OptionError(f"{names} are for models of Marian and from Hugging Face")
        from nmt_cli.export.importing.runs import import_bundle

        run = import_bundle(folder, output, dev, force)
        say(f"run written to {run}; next: nmt train RECIPE --init-from {run}")
        return
    from nmt_cli.export.importing.huggingface import import_huggingface
    from nmt_cli.export.importing.marian import import_marian

    make = import_huggingface if (folder / "config.json").exists() else import_marian
    run = make(folder, output, (source, target), dev, force, normalize_punctuation)
    say(f"run written to {run}; next: nmt export {run} --onnx --quantize int8")


def _pairs_command(
    name: str, key: str, metavar: str, words: str, prefix: str, help: str
) -> click.Command:
    """Return a command that translates text to pairs, for recipes to name in data.``key``.
    ``words`` and ``prefix`` are the arguments of the example."""
    example = f"nmt {name} {words} -o {prefix}"
    epilog = f"writes {prefix}.pt and {prefix}.en."

    @command(name, example=example, epilog=epilog, help=help)
    @click.argument("files", metavar=metavar, nargs=-1, required=True, type=INPUT)
    @option_group(TranslateOptions, "engine", ("engine", "address"))
    @decoding_options("beam_size", "length_penalty")
    def make_pairs(
        files: tuple[Path, ...],
        engine: TranslateOptions,
        decoding: DecodingOptions,
        hardware: Hardware,
        model: Path = option(..., "Run or bundle that translates the text.", flags="-m"),
        output: Path = option(
            ...,
            "Files to write: PREFIX with the model's two languages as suffixes.",
            metavar="PREFIX",
            flags="-o",
        ),
        force: bool = option(False, "Replace existing files."),
    ) -> None:
        from nmt_cli.jobs.pairs import synthesize_files

        if engine.address and not engine.engine:
            raise OptionError("`address` needs `engine`")
        if not engine.engine:
            opened = lookup.open_model([model], hardware)
            synthesize_files(files, opened, decoding, output, force)
            languages = opened.languages
        else:
            from nmt_cli.ray.cluster import RaySettings
            from nmt_cli.ray.engine import synthesize_files as on_ray

            folder = lookup.find_model(model)
            settings = RaySettings(engine.address, **vars(hardware))
            languages = on_ray(files, folder, decoding, output, force, settings)
        source, target = languages[::-1] if key == "synthetic" else languages
        # Absolute, so that data.root does not matter; a string of JSON is one of TOML.
        path = json.dumps(str(output.absolute()), ensure_ascii=False)
        say(f"for [data] in a recipe from {source} to {target}: {key} = [{path}]")

    return make_pairs


backtranslate = _pairs_command(
    "backtranslate",
    "synthetic",
    "MONO...",
    "mono.en -m exports/docs-en-pt",
    "corpora/mono.bt",
    """Generate training pairs from target-language text.

    MONO is text in the target language of the system to be trained, and --model translates from it.
    The translations become the sources of the new pairs, the lines of MONO their targets (Sennrich
    et al. 2016, arXiv:1511.06709). Blank lines are left out, and pairs whose translation is empty,
    repeats itself or is unreadable.

    Add PREFIX to data.synthetic in the recipe; data.synthetic_tag marks these sources,
    data.synthetic_ratio limits their number.
    """,
)
distill = _pairs_command(
    "distill",
    "train",
    "SOURCE...",
    "train.pt -m exports/big-pt-en",
    "corpora/distilled",
    """Generate training pairs with a teacher's translations.

    The teacher, --model, translates SOURCE. A small model learns more from the translations of a
    large one than from human translations, which vary more (Kim and Rush 2016, arXiv:1606.07947).
    Blank lines are left out, and pairs whose translation is empty, repeats itself or is unreadable.

    Add PREFIX to data.train in the student's recipe, in addition to the corpora or instead of them.
    """,
)
