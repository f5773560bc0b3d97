"""Run the notebooks of docs/notebooks/ and write their outputs; with --check, compare the outputs.

Like Jupyter, but without its packages: a cell's output is what it prints, and the value of the
expression that it ends with. Cells with the tag "varies" show a trained model, whose numbers depend
on the processor: only the types of their outputs are compared.
"""

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parent / "notebooks"
Output = dict[str, Any]


def run(cells: list[dict[str, Any]]) -> list[list[Output]]:
    """Run code cells in order; return the outputs of each."""
    names: dict[str, Any] = {"__name__": "__main__"}
    sources = ["".join(cell["source"]) for cell in cells]
    # A notebook may change the folder; its log writes to the stdout of its first cell.
    with contextlib.chdir("."), contextlib.redirect_stdout(io.StringIO()) as printed:
        return [
            _outputs(source, number, names, printed) for number, source in enumerate(sources, 1)
        ]


def _outputs(source: str, number: int, names: dict[str, Any], printed: io.StringIO) -> list[Output]:
    """Run one cell, whose text is added to what has been printed."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    value, outputs, start = None, [], len(printed.getvalue())
    exec(compile(tree, f"cell {number}", "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    if text := printed.getvalue()[start:]:
        lines = text.splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        data: Output = {"text/plain": [repr(value)]}
        if hasattr(value, "_repr_png_"):
            data = {"image/png": base64.b64encode(value._repr_png_()).decode()}
        header = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
        outputs.append({**header, "data": data})
    return outputs


def differs(cell: dict[str, Any], outputs: list[Output]) -> bool:
    """Whether a cell's outputs differ from those in the notebook; pictures are not compared."""
    if "varies" in cell["metadata"].get("tags", ()):
        return _types(outputs) != _types(cell["outputs"])
    return _texts(outputs) != _texts(cell["outputs"])


def _types(outputs: list[Output]) -> list[Any]:
    return [[output["output_type"], *output.get("data", ())] for output in outputs]


def _texts(outputs: list[Output]) -> list[Any]:
    return [output.get("text") or output["data"].get("text/plain") for output in outputs]


def main() -> None:
    """Run every notebook."""
    check = "--check" in sys.argv[1:]
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        for number, (cell, outputs) in enumerate(zip(cells, run(cells), strict=True), 1):
            if check and differs(cell, outputs):
                sys.exit(f"{path}, code cell {number}: its outputs differ; run {__file__}")
            cell.update(outputs=outputs, execution_count=number)
        if not check:
            text = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
