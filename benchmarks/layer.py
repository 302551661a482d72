"""The layer against the same sum in its barest form, eager and compiled, and against other libraries."""

from __future__ import annotations

import math

import torch
from _measure import REPEATS, Times, alternate, at_most, duration, row, show, show_machine, version_of
from torch import Tensor, nn

import posenc

BATCH, LENGTH, DIM, MAX_LEN = 32, 512, 512, 5000
TOKENS = 2000


class Bare(nn.Module):
    """A ready table, and the sum: no checks."""

    pe: Tensor

    def __init__(self, pe: Tensor) -> None:
        super().__init__()
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor, offset: int) -> Tensor:
        """x (B, S, d_model) -> the same."""
        return x + self.pe[:, offset : offset + x.shape[1]]


class Textbook(nn.Module):
    """The layer of the tutorials, batch first."""

    pe: Tensor

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(max_len).unsqueeze(1)
        factors = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * factors)
        pe[0, :, 1::2] = torch.cos(position * factors)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, S, d_model) -> the same."""
        return self.dropout(x + self.pe[:, : x.size(1)])


def eager_rows(layer: posenc.PositionalEncoding) -> list[list[str]]:
    """Whole sequences, one token at an offset, and positions that are given."""
    x, token = torch.randn(BATCH, LENGTH, DIM), torch.randn(1, 1, DIM)
    pe, bare = layer.pe.clone(), Bare(layer.pe.clone())
    positions = torch.randint(0, MAX_LEN, (BATCH, LENGTH))
    flat = pe[0]
    if not torch.equal(layer(x), x + pe[:, :LENGTH]) or not torch.equal(layer(token, offset=7), bare(token, 7)):
        raise SystemExit("the layer and the bare sum differ")
    if not torch.equal(layer(x, positions=positions), x + flat[positions]):
        raise SystemExit("the layer and the gathered sum differ")
    whole = alternate({"posenc": lambda: layer(x), "other": lambda: x + pe[:, :LENGTH]}, repeats=41)
    one = alternate(
        {"posenc": lambda: layer(token, offset=1234), "other": lambda: bare(token, 1234)},
        repeats=41,
        calls=TOKENS,
    )
    given = alternate(
        {
            "posenc": lambda: layer(x, positions=positions),
            "indexed": lambda: x + flat[positions],
            "embedded": lambda: x + nn.functional.embedding(positions, flat),
        },
        repeats=21,
    )
    gathered = min(given["indexed"], given["embedded"], key=lambda times: times.median)
    return [
        row(f"eval, ({BATCH}, {LENGTH}, {DIM}); x + pe[:, :{LENGTH}]", *_both(whole, 1.05)),
        row("one token at an offset; the sum in a bare module", *_both(one, 1.25)),
        row(
            "positions (B, S) inside max_len; gather and add", *_both({**given, "other": gathered}, 1.3)
        ),
    ]  # fmt: skip


def _both(times: dict[str, Times], bar: float) -> tuple[Times, Times, tuple[str, str, str]]:
    ours, other = times["posenc"], times["other"]
    return ours, other, at_most(bar, ours, other)


def compiled_row(layer: posenc.PositionalEncoding) -> list[str]:
    """The layer under torch.compile, against the layer of the tutorials under torch.compile."""
    x = torch.randn(BATCH, LENGTH, DIM)
    ours, other = torch.compile(layer), torch.compile(Textbook(DIM, max_len=MAX_LEN).eval())
    times = alternate({"posenc": lambda: ours(x), "other": lambda: other(x)}, repeats=41, warm=5)
    name = "compiled; the layer of the tutorials, compiled"
    mine, theirs = times["posenc"], times["other"]
    return row(name, mine, theirs, at_most(1.0, mine, theirs, noise="aside"))


def peer_rows(layer: posenc.PositionalEncoding) -> list[list[str]]:
    """What other libraries take for the same sum."""
    x = torch.randn(BATCH, LENGTH, DIM)
    peers = {}
    if version_of("positional-encodings"):
        from positional_encodings.torch_encodings import PositionalEncoding1D, Summer

        peers["positional-encodings"] = Summer(PositionalEncoding1D(DIM))
    if version_of("x-transformers"):
        from x_transformers.x_transformers import ScaledSinusoidalEmbedding

        embedding = ScaledSinusoidalEmbedding(DIM)
        peers["x-transformers"] = lambda values: values + embedding(values)
    rows = []
    for package in ("positional-encodings", "x-transformers"):
        if package not in peers:
            rows.append([package, "not installed", "", ""])
            continue
        peer = peers[package]
        times = alternate({"posenc": lambda: layer(x), "peer": lambda run=peer: run(x)})
        ours, theirs = times["posenc"].median, times["peer"].median
        name = f"{package} {version_of(package)}"
        rows.append([name, duration(ours), duration(theirs), f"{theirs / ours:.2f} x faster"])
    return rows


def main() -> None:
    """Measure and print; a bar that is not met is said, and is no failure."""
    show_machine()
    layer = posenc.PositionalEncoding(DIM, max_len=MAX_LEN).eval()
    with torch.no_grad():
        show(f"the layer, float32, medians of at least {REPEATS}", [*eager_rows(layer), compiled_row(layer)])
        header = ["", "posenc", "peer", "ratio"]
        show(f"the layer and other libraries, ({BATCH}, {LENGTH}, {DIM})", peer_rows(layer), header)


if __name__ == "__main__":
    main()
