"""Make, write and show figures."""

import io
import warnings
from pathlib import Path

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from nmt_cli.errors import OutputError, ResourceError
from nmt_cli.files import replacing_path

_DPI, _NOTEBOOK_DPI = 150, 75
_MAX_LABEL = 20  # characters; longer labels would leave no room for the matrix
_MIN_SMALL = 24  # tokens from which labels are smaller, so that they do not overlap


class _NotebookFigure(Figure):
    def _repr_png_(self) -> bytes:
        return picture(self, "png", _NOTEBOOK_DPI)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure without a window. Sizes are in inches."""
    return _NotebookFigure(figsize=(width, height), layout="constrained")


def check_format(path: Path) -> None:
    """Check that a file name has the suffix of an image format."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise OutputError(f"{path}: unknown image format", "use a name that ends in .png or .svg")


def write(figure: Figure, path: Path) -> None:
    """Write a figure as PNG or SVG, by the suffix of its file name (see :func:`check_format`)."""
    with replacing_path(path) as temporary:
        temporary.write_bytes(picture(figure, path.suffix[1:].lower()))


def picture(figure: Figure, image_format: str, dpi: int = _DPI) -> bytes:
    """Return a figure as "png" or "svg". The same figure gives the same bytes."""
    stream = io.BytesIO()
    # SVG text stays text, in the reader's font; ids and dates do not change.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "nmt"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # words of any script
        metadata = {"Date": None} if image_format == "svg" else {"Software": None}
        figure.savefig(stream, format=image_format, dpi=dpi, metadata=metadata)
    return stream.getvalue()


def show(figure: Figure) -> None:
    """Show the figure in a window and wait until it is closed."""
    import matplotlib
    from matplotlib import pyplot

    if matplotlib.get_backend().lower() == "agg":
        raise ResourceError("`show`: there is no display", "write a file with `output`")
    manager = pyplot.figure(figsize=figure.get_size_inches()).canvas.manager
    manager.canvas.figure = figure
    figure.set_canvas(manager.canvas)
    pyplot.show()


def matrix(
    axes: Axes, values: NDArray[np.float32], rows: list[str], columns: list[str]
) -> AxesImage:
    """Draw weights from 0 to 1 with labels on both sides. Return the image, for a colour bar."""
    image = axes.imshow(values, cmap=colormaps["Blues"], vmin=0, vmax=1, aspect="equal")
    size = 9 if max(len(rows), len(columns)) < _MIN_SMALL else 6
    axes.set_yticks(range(len(rows)), map(_short, rows), fontsize=size)
    axes.set_xticks(range(len(columns)), map(_short, columns), fontsize=size, rotation=90)
    axes.tick_params(length=0)
    return image


def _short(label: str) -> str:
    return label if len(label) <= _MAX_LABEL else label[: _MAX_LABEL - 1] + "…"
