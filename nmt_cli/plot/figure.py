"""Make, write and show figures."""

import io
import logging
import re
import warnings
from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps, font_manager, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from numpy.typing import NDArray

from nmt_cli.errors import OutputError, ResourceError
from nmt_cli.files import replacing_path

logger = logging.getLogger(__name__)

_DPI, _NOTEBOOK_DPI = 150, 75
_MAX_PIXELS = 10_000  # of a side; larger figures have fewer dots per inch
_TITLE, _LINE = 11, 0.21  # points; inches of a line
_MAX_LABEL, _SIZE = 20, 9  # characters and points of a label
_MIN_SMALL = 24  # tokens from which labels are smaller, so that they do not overlap
# For characters that matplotlib's own font lacks; those that are installed are used.
_FALLBACKS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Hiragino Sans", "Arial Unicode MS"),
    *("Microsoft YaHei", "Malgun Gothic", "Droid Sans Fallback", "WenQuanYi Zen Hei"),
    *("Noto Sans Devanagari", "Nirmala UI", "Noto Sans Thai", "Noto Emoji", "Segoe UI Emoji"),
)


class _Figure(Figure):
    def draw(self, renderer: Any) -> None:
        """Draw text as it is: "$" begins no formula, and words may be of any script."""
        for text in self.findobj(Text):
            text.set(parse_math=False, family=_families())
        super().draw(renderer)

    def _repr_png_(self) -> bytes:
        return picture(self, "png", _NOTEBOOK_DPI)


@cache
def _families() -> list[str]:
    installed = set(font_manager.get_font_names())
    return ["sans-serif", *(name for name in _FALLBACKS if name in installed)]


def new_figure(width: float, height: float, *title: str) -> Figure:
    """Return an empty figure without a window. Sizes are in inches; the title is above it, each
    part on a line of its own, or on two."""
    lines = "\n".join(wrapped(part, width, _TITLE) for part in title)
    height += _LINE * (1 + lines.count("\n"))
    figure = _Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(lines, fontsize=_TITLE)
    return figure


def text_width(text: str, size: float) -> float:
    """Return the width of a line in inches, in a font of ``size`` points."""
    font = font_manager.FontProperties(family=_families(), size=size)
    with warnings.catch_warnings(action="ignore"):  # about glyphs
        return text_to_path.get_text_width_height_descent(text, font, False)[0] / 72


def wrapped(text: str, width: float, size: float, lines: int = 2) -> str:
    """Break a text into lines of at most ``width`` inches in a font of ``size`` points, between
    words if possible. The last line ends in an ellipsis if more would follow."""
    rest, broken = " ".join(text.split()), list[str]()
    while True:
        fitting = bisect_right(
            range(1, len(rest) + 1),
            0.95 * width,  # rounded to pixels, glyphs may be wider
            key=lambda length: text_width(f"{rest[:length]}…", size),
        )
        fitting = max(1, fitting)
        if fitting >= len(rest):
            return "\n".join([*broken, rest])
        if len(broken) == lines - 1:
            return "\n".join([*broken, f"{rest[:fitting].rstrip()}…"])
        space = rest.rfind(" ", 0, fitting + 1)
        end = space if space > fitting // 2 else fitting
        broken.append(rest[:end])
        rest = rest[end:].lstrip()


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
    dots = min(dpi, _MAX_PIXELS / figure.get_size_inches().max())
    # SVG text stays text, in the reader's font; ids and dates do not change.
    settings = {"svg.fonttype": "none", "svg.hashsalt": "nmt"}
    with rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metadata = {"Date": None} if image_format == "svg" else {"Software": None}
        figure.savefig(stream, format=image_format, dpi=dots, metadata=metadata)
    codes = {code for one in caught for code in re.findall(r"^Glyph (\d+) ", str(one.message))}
    if codes and image_format == "png":
        characters = " ".join(sorted(chr(int(code)) for code in codes)[:10])
        logger.warning(f"no font has {characters}; install Noto Sans CJK, or write an SVG file")
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
    size = _SIZE if max(len(rows), len(columns)) < _MIN_SMALL else 6
    axes.set_yticks(range(len(rows)), map(shortened, rows), fontsize=size)
    axes.set_xticks(range(len(columns)), map(shortened, columns), fontsize=size, rotation=90)
    axes.tick_params(length=0)
    return image


def shortened(label: str, limit: int = _MAX_LABEL) -> str:
    """Return a label of at most ``limit`` characters."""
    return label if len(label) <= limit else label[: limit - 1] + "…"


def label_width(labels: list[str]) -> float:
    """Return the width in inches of the widest label of a matrix."""
    return max(text_width(shortened(label), _SIZE) for label in labels)
