"""What all pictures share: how they are made, written and shown."""

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

FORMATS = (".png", ".svg")
# Weights between 0 and 1, and masks: dark is much.
WEIGHTS = "Blues"
_DPI = 150
# Longer labels would leave no room for what they name.
_LONGEST_LABEL = 20
# From so many tokens on, labels are smaller, so that none overlap.
_SMALL_FROM = 24


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches; no window is opened for it."""
    return Figure(figsize=(width, height), layout="constrained")


def check_format(path: Path) -> None:
    """Refuse a file name that ends in no format of pictures.

    Raises:
        NmtError: it does.
    """
    if path.suffix.lower() not in FORMATS:
        raise NmtError(f"{path}: no name of a picture", "end it in .png or .svg")


def write(figure: Figure, path: Path) -> None:
    """Write a figure as its file name ends: PNG or SVG.

    Raises:
        NmtError: another ending, or the file cannot be written.
    """
    check_format(path)
    with replacing_path(path) as beside:
        beside.write_bytes(picture(figure, path.suffix[1:].lower()))


def picture(figure: Figure, kind: str) -> bytes:
    """A figure as PNG or SVG; the same figure gives the same bytes."""
    stream = io.BytesIO()
    # Text as text, in whatever font the reader has; ids and dates that do not change.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "nmt"}):
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(stream, format=kind, dpi=_DPI, metadata=metadata)
    return stream.getvalue()


def show(figure: Figure) -> None:
    """Open a window with the figure and wait until it is closed.

    Raises:
        NmtError: there is no display, or nothing to open windows with.
    """
    import matplotlib
    from matplotlib import pyplot

    if matplotlib.get_backend().lower() == "agg":
        raise NmtError("--show: there is no display to show the picture on", "give -o FILE")
    manager = pyplot.figure(figsize=figure.get_size_inches()).canvas.manager
    manager.canvas.figure = figure
    figure.set_canvas(manager.canvas)
    pyplot.show()


def matrix(
    axes: Axes, values: NDArray[np.float32], rows: list[str], columns: list[str]
) -> AxesImage:
    """Draw weights from 0 to 1 with labels on both sides; gives the image, for a colour bar."""
    image = axes.imshow(values, cmap=colormaps[WEIGHTS], vmin=0, vmax=1, aspect="equal")
    size = 9 if max(len(rows), len(columns)) < _SMALL_FROM else 6
    axes.set_yticks(range(len(rows)), map(_short, rows), fontsize=size)
    axes.set_xticks(range(len(columns)), map(_short, columns), fontsize=size, rotation=90)
    axes.tick_params(length=0)
    return image


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"
