"""The lines in which systems compute their encodings, written out: their recipes repeat them bit for bit."""

import math
from contextlib import suppress
from dataclasses import replace

import pytest
import torch
from tests.named import ready

from posenc import conventions, encode
from posenc.errors import ConventionError
from posenc.recipes import RECIPES

WHERE = torch.tensor([0, 1, 2, 7, 100, 511, 4095, 100_003])
TIMES = torch.tensor([0.0, 0.1, 0.37, 1.0 / 3, 0.9, 1.0])
# Coordinates that no power of two divides, in [-1, 1] and beyond.
POINTS = torch.tensor([[-0.9, 0.3, 0.7], [0.1, -0.2, 1.0], [0.123, 0.456, -0.789]])
WIDTHS = [8, 64, 128, 512]
PI = math.pi


def arange(n: int, dtype=torch.float32) -> torch.Tensor:
    return torch.arange(n, dtype=dtype)


def halves(angles: torch.Tensor) -> torch.Tensor:
    return torch.cat([angles.sin(), angles.cos()], -1)


def pairs(angles: torch.Tensor) -> torch.Tensor:
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


def outer(positions: torch.Tensor, ladder: torch.Tensor) -> torch.Tensor:
    return positions.to(ladder.dtype).unsqueeze(-1) * ladder


def snippet(d):
    position = WHERE.float().unsqueeze(1)
    pe = torch.zeros(len(WHERE), d)
    div_term = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def fairseq(d):
    emb = math.log(10000) / (d // 2 - 1)
    return halves(outer(WHERE + 2, torch.exp(arange(d // 2) * -emb)))


def timesfm(d):
    increment = math.log(float(10000) / float(4)) / max(d // 2 - 1, 1)
    return halves(outer(WHERE, 4 * torch.exp(arange(d // 2) * -increment)))


def adm(d):
    angles = outer(WHERE, torch.exp(-math.log(10000) * arange(d // 2) / (d // 2)))
    return torch.cat([angles.cos(), angles.sin()], -1)


def diffusers_scaled(d):
    exponent = -math.log(100) * arange(d // 2)
    angles = 1000 * outer(WHERE, torch.exp(exponent / (d // 2 - 0.5)))
    return torch.cat([angles.cos(), angles.sin()], -1)


def transformer_xl(d):
    return halves(outer(WHERE, 1 / (10000 ** (torch.arange(0.0, d, 2.0) / d))))


def x_transformers(d):
    return halves(outer(WHERE, 10000 ** -(arange(d // 2) / (d // 2)))) * d**-0.5


def keras_hub(d):
    powers = torch.pow(torch.tensor(1 / 10000), 2 * (torch.arange(d) // 2).float() / d)
    angles = outer(WHERE, powers)
    even = torch.arange(d) % 2 == 0
    return torch.where(even, angles.sin(), angles.cos())


def sockeye(d):
    return halves(WHERE.unsqueeze(1) / torch.pow(10000, (2 * torch.arange(d // 2)) / d))


def flax(d):
    scale = -math.log(10000.0 / 1.0) / (d // 2 - 1)
    return halves(outer(WHERE, torch.exp(arange(d // 2, torch.float64) * scale)))


def diffusers_1d(d):
    omega = arange(d // 2, torch.float64) / (d / 2.0)
    return halves(outer(WHERE, 1.0 / 10000**omega))


def marian(d):
    table = WHERE.double().unsqueeze(-1) / torch.pow(10000, 2 * (torch.arange(d, dtype=torch.float64) // 2) / d)
    return torch.cat([table[:, 0::2].sin(), table[:, 1::2].cos()], -1)


def hierbert(d):
    table = WHERE.double().unsqueeze(-1) / torch.pow(10000, 2 * torch.arange(d, dtype=torch.float64) / d)
    rows = torch.stack([table[:, 0::2].sin(), table[:, 1::2].cos()], -1).flatten(-2)
    rows[0] = 0
    return rows


def pi0(d):
    fraction = torch.linspace(0.0, 1.0, d // 2)
    period = 4e-3 * (4.0 / 4e-3) ** fraction
    return halves(1.0 / period * 2 * math.pi * TIMES[:, None])


def gaussian(d):
    return halves(TIMES[:, None] * drawn(d // 2)[None, :] * 2 * math.pi)


def drawn(n: int) -> torch.Tensor:
    return torch.sin(arange(n) * 1.7) * 16


LINES = {
    "annotated-transformer": snippet,
    "fairseq": fairseq,
    "timesfm-min4": timesfm,
    "adm-timestep": adm,
    "diffusers-timestep-scaled": diffusers_scaled,
    "transformer-xl": transformer_xl,
    "x-transformers": x_transformers,
    "keras-hub": keras_hub,
    "sockeye": sockeye,
    "diffusers-1d": diffusers_1d,
    "marian": marian,
    "lex-glue-hierbert": hierbert,
    "pi0-timestep": pi0,
    "gaussian-fourier": gaussian,
}


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("name", LINES)
def test_a_line_of_a_system_is_its_recipe(name, d):
    convention = conventions[name]
    if convention.spacing == "explicit":
        convention = convention.with_frequencies(drawn(d // 2))
    where = TIMES if name in ("pi0-timestep", "gaussian-fourier") else WHERE
    theirs = LINES[name](d)
    wide = torch.float64 if name == "diffusers-1d" else torch.float32

    assert torch.equal(encode(where, d, convention.as_released(), dtype=wide), theirs.to(wide))


def perceiver(n):
    angles = torch.cat([POINTS[:, axis, None] * torch.linspace(1.0, 112.0, n) for axis in (0, 1)], -1) * PI
    return torch.cat([POINTS[:, :2], angles.sin(), angles.cos()], -1)


def perceiver_pytorch(n):
    parts = []
    for axis in (0, 1):
        angles = POINTS[:, axis, None] * torch.linspace(1.0, 10 / 2, n) * PI
        parts += [angles.sin(), angles.cos(), POINTS[:, axis, None]]
    return torch.cat(parts, -1)


def timm_fourier(n):
    return torch.cat([halves(outer(POINTS[:, a], torch.linspace(1.0, 224 / 2, n) * PI)) for a in (0, 1)], -1)


def timm_fourier_log(n):
    bands = 2.0 ** torch.linspace(0, math.log2(224) - 1, n) * PI
    return torch.cat([halves(outer(POINTS[:, axis], bands)) for axis in (0, 1)], -1)


def nerf(n):
    parts = [POINTS]
    for band in 2.0 ** torch.linspace(0.0, n - 1.0, n):
        parts += [torch.sin(POINTS * band), torch.cos(POINTS * band)]
    return torch.cat(parts, -1)


def pytorch3d(n):
    angles = (POINTS[..., None] * 2.0 ** arange(n)).reshape(len(POINTS), -1)
    return torch.cat([angles.sin(), (angles + 0.5 * PI).sin(), POINTS], -1)


def sam(n):
    x, y = POINTS[:, 1, None].abs(), POINTS[:, 0, None].abs()
    matrix = drawn(2 * n).view(2, n)
    coords = 2 * PI * ((2 * x - 1) * matrix[0] + (2 * y - 1) * matrix[1])
    return halves(coords)


def detr(n):
    scale, powers = 2 * PI, 10000 ** (2 * (arange(2 * n) // 2) / (2 * n))
    parts = []
    for axis in (0, 1):
        angles = POINTS[:, axis, None].abs() * scale / powers
        parts.append(torch.stack([angles[:, 0::2].sin(), angles[:, 1::2].cos()], -1).flatten(1))
    return torch.cat(parts, -1)


# Pairs of an axis -> width, and what encode takes.
OF_AXES = {
    "perceiver": (perceiver, lambda n: 4 * n + 2, POINTS[:, :2]),
    "perceiver-pytorch": (perceiver_pytorch, lambda n: 4 * n + 2, POINTS[:, :2]),
    "timm-fourier-linear": (timm_fourier, lambda n: 4 * n, POINTS[:, :2]),
    "timm-fourier-log": (timm_fourier_log, lambda n: 4 * n, POINTS[:, :2]),
    "nerf": (nerf, lambda n: 6 * n + 3, POINTS),
    "pytorch3d": (pytorch3d, lambda n: 6 * n + 3, POINTS),
    "sam": (sam, lambda n: 2 * n, POINTS[:, :2].abs()),
    "detr-2d-normalized": (detr, lambda n: 4 * n, POINTS[:, :2].abs()),
}


@pytest.mark.parametrize("n", [1, 2, 6, 33])
@pytest.mark.parametrize("name", OF_AXES)
def test_a_line_of_a_system_of_several_axes_is_its_recipe(name, n):
    line, dim, where = OF_AXES[name]
    convention = ready(name)
    if convention.spacing == "explicit":
        convention = convention.with_frequencies(drawn(2 * n).view(2, n))

    assert torch.equal(encode(where, dim(n), convention.as_released()), line(n))


# Powers of two are exact in every order, and one axis has nothing to add before it is scaled.
ALIKE = {"nerf": {"recip-pow", "pow", "pow-recip-base", "div"}, "gaussian-fourier": {"exp-div"}}


@pytest.mark.parametrize("name", [*LINES, *OF_AXES])
def test_no_other_recipe_gives_the_line(name):
    convention = ready(name)
    if name in LINES:
        # No power of two: exp and exp-div would be one.
        dim, where, line = 192, TIMES if name in ("pi0-timestep", "gaussian-fourier") else WHERE, LINES[name](192)
        given = drawn(dim // 2)
    else:
        make, widths, where = OF_AXES[name]
        dim, line, given = widths(33), make(33), drawn(66).view(2, 33)
    if convention.spacing == "explicit":
        convention = convention.with_frequencies(given)
    found = set()
    for recipe in RECIPES:
        with suppress(ConventionError):
            if torch.equal(encode(where, dim, replace(convention, arithmetic=recipe), dtype=line.dtype), line):
                found.add(recipe)

    assert found == {convention.released_as, *ALIKE.get(name, ())}
