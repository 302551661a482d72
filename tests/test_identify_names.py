"""Every named convention of one axis is recognised: whole, in pieces, far out, in 16 bits, and transposed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from posenc import conventions, encode
from posenc.convention import systems
from posenc.identification import identify

LEARNED = Path(__file__).parent / "data" / "learned" / "minilm_positions.safetensors"
DIM = ROWS = 64
# Position 0 is the same in most conventions, and so is little beyond: one row alone must stand further out.
ALONE = 40
NAMES = [
    name
    for name, system in systems.items()
    if not system.convention.axes and system.convention.spacing != "explicit" and system.family != "rotary"
]


def released(name: str, start: int) -> torch.Tensor:
    return encode(torch.arange(start, start + ROWS), DIM, conventions[name].as_released())


def recognised(table: torch.Tensor, name: str) -> bool:
    best = identify(table)[0]
    return best.kind == "named" and name in (best.name, *best.names, *best.shifted)


def forms(name: str, start: int) -> dict[str, torch.Tensor]:
    table = released(name, start)
    some = torch.randperm(ROWS, generator=torch.Generator().manual_seed(start))[:8]
    return {
        "whole": table,
        "exact": encode(torch.arange(start, start + ROWS), DIM, name),
        "float16": table.half(),
        "bfloat16": table.bfloat16(),
        "transposed": table.T,
        "eight rows": table[some],
        "eight rows, bfloat16": table[some].bfloat16(),
        "one row": table[ALONE : ALONE + 1],
        "one vector": table[ALONE],
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_table_of_a_system_is_recognised(name):
    assert [form for form, table in forms(name, 0).items() if not recognised(table, name)] == []


@pytest.mark.parametrize("start", [9, 10_000])
@pytest.mark.parametrize("name", [name for name in NAMES if name in ("transformer", "fairseq", "marian", "musicgen")])
def test_wherever_it_begins(name, start):
    assert [form for form, table in forms(name, start).items() if not recognised(table, name)] == []
    best = identify(released(name, start))
    assert start in {match.start for match in best if match.name == name}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_one_of_them_far_out(name):
    assert [form for form, table in forms(name, 10_000).items() if not recognised(table, name)] == []


@pytest.mark.parametrize("seed", range(10))
def test_random_tables_are_never_taken_for_a_convention(seed):
    draw = torch.Generator().manual_seed(seed)
    for index in range(100):
        rows, dim = (int(torch.randint(1, 64, (), generator=draw)) for _ in range(2))
        values = torch.randn(rows, dim, generator=draw)
        table = (
            values, 0.02 * values, values.tanh(), (10 * values).sin(), torch.nn.functional.normalize(values, dim=1)
        )[index % 5]  # fmt: skip
        table = table.bfloat16() if index % 3 == 0 else table
        assert identify(table)[0].kind == "unknown"


def test_a_trained_table_is_said_to_be_learned():
    (table,) = load_file(LEARNED).values()

    assert identify(table)[0].kind == "learned"
