"""Small pictures beside conventions and layers in a notebook, drawn without matplotlib.

They are IPython's formatters, so that lower floors know nothing of pictures and no object gains a method.
"""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .cividis import palette

if TYPE_CHECKING:
    from torch import Tensor

# What has a picture: named, not imported, so that registering costs nothing.
_SHOWN = (
    ("posenc.convention.record", "Convention"),
    ("posenc.modules.positional", "PositionalEncoding"),
    ("posenc.modules.sequence", "SequenceEmbedding"),
    ("posenc.modules.learned", "LearnedPositionalEmbedding"),
    ("posenc.modules.rotary", "RotaryEmbedding"),
    ("posenc.modules.timestep", "TimestepEmbedding"),
)
ROWS = 32
MAPS = {2: (6, 6), 3: (3, 3, 4)}
MOST_COLUMNS = 128
DIM = 64  # of a convention, which has no width of its own, where it knows this one
WIDTH = 512  # pixels, more or less
CELL_HEIGHT = 5
WHITE = (255, 255, 255)
_SHADES = 255  # and white, for what is not drawn


class _Small(NamedTuple):
    """Values (rows, columns), NaN where nothing is to be drawn, the magnitude at both ends, and what they are."""

    values: Tensor
    top: float
    caption: str


def register() -> None:
    """Teach the IPython that runs this process, if there is one."""
    import sys

    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    formatter = getattr(shell, "display_formatter", None)
    if formatter is None:
        return
    for kind, write in (("text/html", html_of), ("image/png", png_of)):
        for module, name in _SHOWN:
            formatter.formatters[kind].for_type_by_name(module, name, write)


def html_of(shown: Any) -> str | None:
    """What it says of itself, and its picture; None where there is none, and the text stands alone."""
    small = _small(shown)
    if small is None:
        return None
    picture = base64.b64encode(_png(small)).decode()
    blank = " White is not drawn." if bool(small.values.isnan().any()) else ""
    caption = html.escape(f"{small.caption} Dark is −{small.top:.3g}, bright is {small.top:.3g}.{blank}")
    return (
        f"<pre>{html.escape(repr(shown))}</pre>"
        f'<figure style="margin: 0"><img alt="{caption}" src="data:image/png;base64,{picture}">'
        f"<figcaption><small>{caption}</small></figcaption></figure>"
    )


def png_of(shown: Any) -> bytes | None:
    """Its picture as a PNG, or None."""
    small = _small(shown)
    return None if small is None else _png(small)


def _small(shown: Any) -> _Small | None:
    try:
        return _picture_of(shown)
    except Exception:  # noqa: BLE001 - a repr never fails: what cannot be drawn keeps its text
        return None


def _picture_of(shown: Any) -> _Small | None:
    from ..convention import Convention, fitting_dim
    from ..modules import LearnedPositionalEmbedding, RotaryEmbedding, SequenceEmbedding, TimestepEmbedding

    if isinstance(shown, LearnedPositionalEmbedding):
        return _learned(shown.weight)
    if isinstance(shown, RotaryEmbedding):
        return _turned(shown)
    if isinstance(shown, Convention) and shown.rotary_dim is not None:
        return _turned(RotaryEmbedding(DIM, shown))
    if isinstance(shown, Convention):
        dim = fitting_dim(shown, DIM)
        return _mapped(shown, dim) if shown.axes else _encoded(shown, dim)
    if isinstance(shown, SequenceEmbedding):
        shown = shown.encoding
    return _encoded(shown.convention, shown.dim if isinstance(shown, TimestepEmbedding) else shown.d_model)


def _encoded(convention: Any, dim: int) -> _Small:
    """The first rows, from the exact values: a layer's own table may be on any device."""
    import torch

    from .rows import Rows
    from .subject import neighbours

    rows = Rows.measured(ROWS, dim, convention, columns=neighbours(dim, MOST_COLUMNS))
    values = rows.values.clone()
    values[:, [rows.columns.index(column) for column in (*rows.hidden, *rows.inputs)]] = torch.nan
    return _Small(values, rows.largest, f"{_size(values, dim)}: {rows.order}.")


def _mapped(convention: Any, dim: int) -> _Small:
    """The cells of a small map, as tables of such systems hold them."""
    import torch

    from ..encoding import grid
    from .subject import column_wavelengths, neighbours, scale_of

    sizes = MAPS[len(convention.axes)]
    columns = neighbours(dim, MOST_COLUMNS)
    values = grid(sizes, dim, convention, dtype=torch.float64, device="cpu").flatten(0, -2)[:, columns]
    plan = convention.plan(dim)
    turns, held = column_wavelengths(plan), {column for _, column in plan.inputs}
    apart = max(_apart(convention, size) for size in sizes)
    hidden = [index for index, column in enumerate(columns) if turns[column] < 2 * apart or column in held]
    values[:, hidden] = torch.nan
    top = scale_of([float(values.nan_to_num().abs().max())])
    what = " x ".join(map(str, sizes))
    shown = f"{dim}" if len(columns) == dim else f"{len(columns)} of {dim}"
    return _Small(values, top, f"Cells of a map of {what} downwards, the last axis fastest, {shown} columns.")


def _apart(convention: Any, size: int) -> float:
    """How far coordinates of neighbouring cells are apart, in positions."""
    if convention.cells == "ends":
        return 2 / (size - 1)
    if convention.cells == "fractions":
        return 1 / (size + float(convention.cell_epsilon))
    return convention.trained_size / size if convention.trained_size else 1.0


def _learned(weight: Tensor) -> _Small | None:
    from .subject import neighbours, scale_of

    if weight.is_meta or not weight.numel():
        return None
    columns = neighbours(weight.shape[-1], MOST_COLUMNS)
    values = weight.detach()[:ROWS, columns].double().cpu()
    top = scale_of([float(values.abs().max())])
    return _Small(values, top, f"{_size(values, weight.shape[-1])} of the weight.")


def _turned(layer: Any) -> _Small:
    """What becomes of a query whose pairs are all (1, 0): cosine and sine of every turn, with the attention factor."""
    import torch

    from ..modules import RotaryEmbedding
    from .subject import neighbours, scale_of

    width, axis = layer.rotary_dim, layer.seq_dim
    query = torch.zeros(ROWS, layer.dim, dtype=torch.float64, device="cpu")
    firsts = slice(0, width, 2) if layer.convention.layout == "interleaved" else slice(0, width // 2)
    query[:, firsts] = 1.0
    # Other axes have one entry; hooks of the model are not run.
    query = query.view(*(1,) * axis, ROWS, *(1,) * (-axis - 2), layer.dim)
    turned, _ = RotaryEmbedding.forward(layer, query, query)
    values = turned.reshape(ROWS, layer.dim)[:, neighbours(layer.dim, MOST_COLUMNS)]
    top = scale_of([float(values.abs().max())])
    said = "A query whose pairs are all (1, 0), turned: cosines and sines"
    return _Small(values, top, f"{_size(values, layer.dim)}. {said}.")


def _size(values: Tensor, dim: int) -> str:
    rows, columns = values.shape
    shown = f"{dim}" if columns == dim else f"{columns} of {dim}"
    return f"Positions 0 to {rows - 1} downwards, {shown} columns"


def _png(small: _Small) -> bytes:
    """A PNG of 255 shades of cividis and white, each value a block of pixels."""
    import torch

    shades = ((small.values / small.top + 1) / 2 * (_SHADES - 1)).round().clamp(0, _SHADES - 1)
    indices = shades.nan_to_num(_SHADES).to(torch.uint8).tolist()
    wide = max(1, WIDTH // len(indices[0]))
    lines = [bytes(index for index in row for _ in range(wide)) for row in indices for _ in range(CELL_HEIGHT)]
    return png(lines, [*palette(_SHADES), WHITE])


def png(lines: Sequence[bytes], colours: Sequence[tuple[int, int, int]]) -> bytes:
    r"""A PNG whose pixels are indices into at most 256 colours, one line a row.

    Source: PNG specification, third edition, sections 5.3, 11.2 and 11.3.

    >>> png([b"\0\1"], [(0, 0, 0), (255, 255, 255)])[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    # Eight bits a pixel, colours from a palette; each line begins with its filter, which is none.
    header = struct.pack(">IIBBBBB", len(lines[0]), len(lines), 8, 3, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + line for line in lines), 9)
    parts = (
        (b"IHDR", header),
        (b"PLTE", bytes(c for colour in colours for c in colour)),
        (b"IDAT", pixels),
        (b"IEND", b""),
    )
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
