"""Tables and rows against the recipe of the tutorials, against filling memory alone, and against peers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import torch
from _measure import REPEATS, alternate, at_most, duration, faster, row, show, show_machine, version_of
from torch import Tensor

import posenc
from posenc import verify
from posenc.verify.error import errors, scale

LENGTH, DIM = 65_536, 512
BATCH = (32, 512)
RUNS, RUN = 24, 16
PEER_REPEATS = 5


def factors_of(dim: int) -> Tensor:
    """The frequencies as the tutorials compute them."""
    return torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))


def textbook(length: int, dim: int) -> Tensor:
    """The recipe of the tutorials, float32."""
    pe = torch.zeros(length, dim)
    position = torch.arange(0, length).float().unsqueeze(1)
    factors = factors_of(dim)
    pe[:, 0::2] = torch.sin(position * factors)
    pe[:, 1::2] = torch.cos(position * factors)
    return pe


def textbook_rows(positions: Tensor, dim: int) -> Tensor:
    """The same recipe at any positions (...) -> (..., dim)."""
    pe = torch.zeros(*positions.shape, dim)
    angles = positions.float().unsqueeze(-1) * factors_of(dim)
    pe[..., 0::2] = torch.sin(angles)
    pe[..., 1::2] = torch.cos(angles)
    return pe


class Prepared:
    """The recipe of the tutorials with its result and every temporary made before."""

    def __init__(self, length: int, dim: int) -> None:
        self.pe = torch.zeros(length, dim)
        self.position = torch.arange(0, length).float().unsqueeze(1)
        self.factors = factors_of(dim)
        self.angles = torch.empty(length, dim // 2)
        self.values = torch.empty(length, dim // 2)

    def __call__(self) -> Tensor:
        """The table (length, dim), in the memory that was made before."""
        torch.mul(self.position, self.factors, out=self.angles)
        torch.sin(self.angles, out=self.values)
        self.pe[:, 0::2] = self.values
        torch.cos(self.angles, out=self.values)
        self.pe[:, 1::2] = self.values
        return self.pe


def exactness(made: Tensor, anchors: list[int], offsets: list[int], convention: str) -> list[str]:
    """Share misrounded and largest error of rows that stand for anchor + offset."""
    exact = verify.exact_rows(anchors, offsets, made.shape[-1], posenc.conventions[convention])
    found = errors(made.reshape(-1, made.shape[-1]), exact, scale(exact, made.dtype))
    return [f"{found.misrounded.mean():.2%}", f"{found.absolute.max():.1e}"]


def sample_of(made: Tensor, convention: str = "transformer") -> list[str]:
    """The exactness of some runs of rows of a table."""
    draw = random.Random(0)
    anchors = sorted(draw.sample(range(0, len(made) - RUN, RUN), RUNS))
    rows = torch.cat([made[anchor : anchor + RUN] for anchor in anchors])
    return exactness(rows, anchors, list(range(RUN)), convention)


def table_rows() -> None:
    """The four rows of a whole table."""
    there, out = torch.zeros(LENGTH, DIM), torch.zeros(LENGTH, DIM)
    prepared = Prepared(LENGTH, DIM)
    times = alternate(
        {
            "fill": lambda: torch.full((LENGTH, DIM), 0.5),
            "fill there": lambda: there.fill_(0.5),
            "textbook": lambda: textbook(LENGTH, DIM),
            "textbook there": prepared,
            "posenc": lambda: posenc.table(LENGTH, DIM),
            "posenc there": lambda: posenc.table(LENGTH, DIM, out=out),
        }
    )
    fresh, into = times["posenc"], times["posenc there"]
    floor, other = times["fill there"], times["textbook there"]
    show(
        f"table({LENGTH}, {DIM}), float32, median of {REPEATS}",
        [
            row("fresh memory, textbook", fresh, times["textbook"], faster(2.5, fresh, times["textbook"])),
            row("fresh memory, filling it", fresh, times["fill"], at_most(1.6, fresh, times["fill"])),
            row(
                "out=, textbook prepared",
                into,
                times["textbook there"],
                faster(5, into, times["textbook there"]),
            ),
            row("out=, filling it", into, times["fill there"], at_most(4, into, times["fill there"])),
            # No table can be written faster than memory is filled: the most that the third row could say.
            row("filling alone, textbook prepared", floor, other, (faster(0, floor, other)[0], "the floor", "")),
        ],
    )
    show(
        f"the same tables, {RUNS * RUN * DIM} values against the reference",
        [
            ["posenc", *sample_of(posenc.table(LENGTH, DIM))],
            ["posenc, out=", *sample_of(out)],
            ["textbook", *sample_of(textbook(LENGTH, DIM))],
            ["textbook, prepared", *sample_of(prepared.pe)],
        ],
        header=["", "misrounded", "error"],
    )


def encode_rows() -> None:
    """Rows at positions anywhere below 2^31."""
    positions = torch.randint(0, 2**31, BATCH, generator=torch.Generator().manual_seed(0))
    times = alternate(
        {
            "textbook": lambda: textbook_rows(positions, DIM),
            "posenc": lambda: posenc.encode(positions, DIM),
        }
    )
    ours, other = times["posenc"], times["textbook"]
    show(
        f"encode of {BATCH} positions below 2^31, dim {DIM}, float32, median of {REPEATS}",
        [row("fresh memory, textbook", ours, other, faster(1.5, ours, other))],
    )
    some = positions.flatten()[:: positions.numel() // 128]
    show(
        f"the same rows, {len(some) * DIM} values against the reference",
        [
            ["posenc", *exactness(posenc.encode(positions, DIM).view(-1, DIM)[:: positions.numel() // 128],
                                  some.tolist(), [0], "transformer")],
            ["textbook", *exactness(textbook_rows(some, DIM), some.tolist(), [0], "transformer")],
        ],
        header=["", "misrounded", "error"],
    )  # fmt: skip


def _positional_encodings() -> Callable[[], Tensor]:
    from positional_encodings.torch_encodings import PositionalEncoding1D

    layer = PositionalEncoding1D(DIM)
    like = torch.zeros(()).expand(1, LENGTH, DIM)

    def run() -> Tensor:
        layer.cached_penc = None
        return layer(like)[0]

    return run


def _x_transformers() -> Callable[[], Tensor]:
    from x_transformers.x_transformers import ScaledSinusoidalEmbedding

    layer = ScaledSinusoidalEmbedding(DIM).requires_grad_(requires_grad=False)
    layer.scale.fill_(1)
    like = torch.zeros(()).expand(1, LENGTH, DIM)
    return lambda: layer(like)


def _transformers() -> Callable[[], Tensor]:
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding

    return lambda: M2M100SinusoidalPositionalEmbedding.get_embedding(LENGTH, DIM)


PEERS = {
    "positional-encodings": (_positional_encodings, "PositionalEncoding1D", "transformer"),
    "x-transformers": (_x_transformers, "ScaledSinusoidalEmbedding, scale 1", "marian"),
    "transformers": (_transformers, "M2M100's table", "tensor2tensor"),
}


def peer_rows() -> None:
    """The same table from other libraries, each in its own convention, and from posenc in that one."""
    rows = []
    for package, (make, what, convention) in PEERS.items():
        version = version_of(package)
        if version is None:
            rows.append([package, "not installed", "", "", "", ""])
            continue
        peer = make()

        def ours(name: str = convention) -> Tensor:
            return posenc.table(LENGTH, DIM, name)

        times = alternate({"peer": peer, "posenc": ours}, repeats=PEER_REPEATS, warm=1)
        rows.append(
            [
                f"{package} {version}, {what}",
                duration(times["posenc"].median),
                duration(times["peer"].median),
                f"{times['peer'].median / times['posenc'].median:.2f} x faster",
                *sample_of(peer(), convention),
            ]
        )
    header = ["", "posenc", "peer", "ratio", "misrounded by peer", "error"]
    show(f"table({LENGTH}, {DIM}), fresh memory, median of {PEER_REPEATS}", rows, header)


def main() -> None:
    """Measure and print; a bar that is not met is said, and is no failure."""
    show_machine()
    with torch.no_grad():
        table_rows()
        encode_rows()
        peer_rows()


if __name__ == "__main__":
    main()
