"""Make, write and show figures."""

import io
from pathlib import Path

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.files import replacing_path

_DPI, _NOTEBOOK_DPI = 150, 75
# Longer labels would leave no room for the matrix.
_LONGEST_LABEL = 20
# With so many tokens, labels are smaller, so that they do not overlap.
_SMALL_FROM = 24


class _Shown(Figure):
    """A figure that notebooks display."""

    def _repr_png_(self) -> bytes:
        return picture(self, "png", _NOTEBOOK_DPI)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure without a window; sizes in inches."""
    return _Shown(figsize=(width, height), layout="constrained")


def check_format(path: Path) -> None:
    """Refuse a file name without the suffix of an image format.

    Raises:
        NmtError: the name does not end in .png or .svg.
    """
    if path.suffix.lower() not in (".png", ".svg"):
        raise NmtError(f"{path}: unknown image format", "use a name that ends in .png or .svg")


def write(figure: Figure, path: Path) -> None:
    """Write a figure as PNG or SVG, by the suffix of its file name (see :func:`check_format`).

    Raises:
        NmtError: the file cannot be written.
    """
    with replacing_path(path) as beside:
        beside.write_bytes(picture(figure, path.suffix[1:].lower()))


def picture(figure: Figure, kind: str, dpi: int = _DPI) -> bytes:
    """Return a figure as "png" or "svg"; the same figure gives the same bytes."""
    stream = io.BytesIO()
    # SVG text stays text, in the reader's font; ids and dates do not change.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "nmt"}):
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(stream, format=kind, dpi=dpi, metadata=metadata)
    return stream.getvalue()


def show(figure: Figure) -> None:
    """Show the figure in a window and wait until it is closed.

    Raises:
        NmtError: there is no display, or matplotlib has no library for windows.
    """
    import matplotlib
    from matplotlib import pyplot

    if matplotlib.get_backend().lower() == "agg":
        raise NmtError("`show`: there is no display", "write a file with `output`")
    manager = pyplot.figure(figsize=figure.get_size_inches()).canvas.manager
    manager.canvas.figure = figure
    figure.set_canvas(manager.canvas)
    pyplot.show()


def matrix(
    axes: Axes, values: NDArray[np.float32], rows: list[str], columns: list[str]
) -> AxesImage:
    """Draw weights from 0 to 1 with labels on both sides; return the image, for a colour bar."""
    image = axes.imshow(values, cmap=colormaps["Blues"], vmin=0, vmax=1, aspect="equal")
    size = 9 if max(len(rows), len(columns)) < _SMALL_FROM else 6
    axes.set_yticks(range(len(rows)), map(_short, rows), fontsize=size)
    axes.set_xticks(range(len(columns)), map(_short, columns), fontsize=size, rotation=90)
    axes.tick_params(length=0)
    return image


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"
