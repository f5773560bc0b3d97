"""nmt quickstart."""

import time
from importlib.util import find_spec

import click

from nmt_cli.cli.options import EXPORTS, RUNS, find_recipe, say

RECIPE = "phrasebook"
SENTENCES = (
    "Onde fica a farmácia?",
    "Nós vamos ao mercado amanhã.",
    "Ela não quer duas maçãs verdes.",
)


@click.command(epilog="\b\nExample: nmt quickstart && echo 'Onde fica a farmácia?' | nmt translate")
@click.pass_context
def quickstart(context: click.Context) -> None:
    """Prepare, train, evaluate, export and translate with the built-in phrasebook.

    Takes a few minutes on two cores and prints each command before it runs. Needs the extra train.
    """
    from nmt_cli.cli.evaluate import evaluate
    from nmt_cli.cli.export import export
    from nmt_cli.cli.train import prepare, train
    from nmt_cli.cli.translate import translate

    if find_spec("keras") is None:  # otherwise, training would fail once the data is prepared
        raise ModuleNotFoundError(name="keras")
    began = time.monotonic()
    label = find_recipe(RECIPE, ()).label
    run, bundle = RUNS / label, EXPORTS / label
    sample = run / "sample.pt"
    for command, words in (
        (prepare, [RECIPE]),
        (train, [RECIPE, "--force"]),
        (evaluate, ["-m", str(run)]),
        (export, [str(run), "--onnx", "-o", str(bundle), "--force"]),
        (translate, ["-m", str(bundle), str(sample)]),
    ):
        if command is translate:
            sample.write_text("".join(f"{line}\n" for line in SENTENCES), encoding="utf-8")
            say("\n" + "\n".join(f"  {line}" for line in SENTENCES))
        say(f"\n$ nmt {command.name} {' '.join(words)}")
        command.main(words, parent=context, standalone_mode=False)
    say(f"\nDone in {time.monotonic() - began:.0f} s. Translate your own sentences:")
    say("$ echo 'Onde fica a farmácia?' | nmt translate")
