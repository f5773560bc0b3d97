"""Write ``reads`` and ``final`` of all examples again."""

import json

from tests import vectors

for example in vectors.VECTORS["examples"]:
    final, reads = vectors.translate(
        example["line"], example["settings"], example["languages"], vectors.by_example(example)
    )
    assert {text for text, _ in reads} == set(example["model"]), (example, reads)
    example["reads"], example["final"] = dict(reads), final
rows = [json.dumps(example, ensure_ascii=False) for example in vectors.VECTORS.pop("examples")]
head = json.dumps(vectors.VECTORS, ensure_ascii=False, indent=1)[:-2]
lines = ",\n  ".join(rows)
vectors.FILE.write_text(f'{head},\n "examples": [\n  {lines}\n ]\n}}\n', encoding="utf-8")
