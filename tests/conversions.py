"""The law of convert, and conversions that hold it."""

import dataclasses

import torch

from posenc import Convention, conventions, convert, encode


def positions_of(convention: Convention) -> torch.Tensor:
    """Integer positions for every axis, negative ones too, no two axes alike."""
    places = torch.arange(-6, 27)
    if not convention.axes:
        return places
    return torch.stack([places * (entry + 1) + entry for entry in range(len(convention.axes))], -1)


def rows(convention: str | Convention, dim: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    convention = conventions[convention] if isinstance(convention, str) else convention
    return encode(positions_of(convention), dim, convention, dtype=dtype)


def law(source: str | Convention, target: str | Convention, dim: int) -> None:
    """The columns of one convention become those of the other, and come back, bit for bit."""
    before, after = rows(source, dim), rows(target, dim)
    assert torch.equal(convert(before, source, target), after)
    assert torch.equal(convert(after, target, source), before)


def as_columns(convention: Convention, dim: int) -> list[tuple[float, ...]]:
    """The columns of values themselves, sorted: what a permutation can't change."""
    return sorted(map(tuple, rows(convention, dim, torch.float64).T.tolist()))


OWN_INPUT = dataclasses.replace(conventions["perceiver-pytorch"], axes=("column", "row"))
FAMOUS = [
    (OWN_INPUT, dataclasses.replace(OWN_INPUT, include_input="prefix"), 18),
    ("transformer", Convention(layout="halves"), 64),
    ("transformer", Convention(layout="halves"), 65),
    ("transformer", "sockeye", 128),
    ("openai-whisper", "tensor2tensor", 64),
    ("fairseq", "m2m100", 7),
    ("ddpm-timestep", "musicgen", 9),
    ("stable-diffusion-timestep", "marian", 64),
    ("detr-2d", "deformable-detr-2d", 32),
    ("mae-2d", "timm-sincos2d-rev0-il0", 32),
    ("big-vision-2d", "simple-vit-2d", 32),
    ("simple-vit-3d", dataclasses.replace(conventions["simple-vit-3d"], axis_layout="inner"), 26),
    ("diffusers-3d", dataclasses.replace(conventions["diffusers-3d"], order="cosine-first"), 32),
    ("nerf", "pytorch3d", 27),
    (
        "perceiver",
        dataclasses.replace(conventions["perceiver"], include_input="suffix-per-axis", axis_layout="outer"),
        18,
    ),
    ("x-transformers", dataclasses.replace(conventions["x-transformers"], layout="interleaved"), 32),
    ("kimi-k25-time", dataclasses.replace(conventions["kimi-k25-time"], layout="interleaved"), 16),
    ("speechbrain-relposencxl", dataclasses.replace(conventions["speechbrain-relposencxl"], layout="halves"), 16),
]
