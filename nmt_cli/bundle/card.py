"""Write MODEL_CARD.md, the manifest for people."""

from nmt_cli.bundle.manifest import Manifest
from nmt_cli.recipe.architecture import architecture_of

LICENCE = "The licence of the model depends on that of its training text."


def model_card(manifest: Manifest) -> str:
    """Return a Markdown page: what the bundle is, how it was trained and how good it is."""
    provenance, config = manifest.provenance, manifest.architecture
    lines = [
        f"# {manifest.name}: {manifest.source_language} to {manifest.target_language}",
        "",
        f"{architecture_of(config).summary(config)} in {manifest.precision}, exported by nmt "
        f"{provenance.get('nmt_version', '?')}.",
        "",
        "## Use",
        "",
        "    nmt translate -m THIS_FOLDER file.txt",
        "",
        "It needs onnxruntime, sentencepiece and numpy, not TensorFlow. Without nmt:",
        "`manifest.json` describes every input and output of `encoder.onnx` and `decoder.onnx`.",
        "",
        "## Training",
        "",
        f"Steps: {provenance.get('steps', '?')}. Training text: "
        + (", ".join(provenance.get("corpora", [])) or "not recorded")
        + f". {LICENCE}",
        "",
        "## Scores",
        "",
    ]
    if manifest.metrics:
        lines += ["| set | metric | score | signature |", "|---|---|---|---|"]
        lines += [
            f"| {row['set']} | {row['metric']} | {row['value']:.2f} | `{row['signature']}` |"
            for row in manifest.metrics
        ]
    else:
        lines.append("Not evaluated at export.")
    lines += ["", "## Verification", ""]
    lines += [f"- {line}" for line in manifest.verification.lines()]
    return "\n".join(lines) + "\n"
