"""What `identify` answers builds the table again: convention and start, the line to paste, the advice of a load."""

from __future__ import annotations

import pytest
import torch

import posenc
from posenc import Convention, PositionalEncoding, conventions, identify, table
from posenc.convention import systems
from posenc.encoding.values import rows_of
from posenc.errors import PosencError
from posenc.identification.tolerance import unit_of

ROWS, DIM = 99, 64
NAMES = [
    name
    for name, system in systems.items()
    if not system.convention.axes and system.convention.spacing != "explicit" and system.family != "rotary"
]
# Those whose rows are not only turned: signs dropped, rows of zeros, tables standardised, columns counted.
ODD = [
    "speechbrain-relposencxl",
    "lex-glue-hierbert",
    "patchtst",
    "kimi-k25-time",
    "fairseq",
    "tensor2tensor-min4-start3",
]
STARTS = (-49, -2, -1, 0, 1, 2, 7, 9999)
OPTIONS = {
    "dropped signs": Convention(position_sign="dropped"),
    "rows of zeros": Convention(layout="halves", zero_rows=(0, 3)),
    "standardised": Convention(standardised_rows=99, odd="refuse"),
    "offset": Convention(position_offset=5, layout="halves", endpoint_shift=1),
    "half positions": Convention(position_offset=0.5),
    "gain": Convention(gain=0.25, base=500),
    "backwards": Convention(position_scale=-1, base=777),
    "columns": Convention(pairing="columns", base=300),
}


def rebuilt(convention: Convention, dim: int, start: int, length: int) -> torch.Tensor:
    """Rows start, start + 1, ... of a convention in float64."""
    return rows_of(torch.arange(start, start + length), convention.plan(dim), torch.float64)


def away(rows: torch.Tensor, made: torch.Tensor, padding: tuple[int, ...]) -> float:
    """How far rows are from what was built, rows of padding aside."""
    kept = [row for row in range(len(rows)) if row not in padding]
    return (rows.double() - made)[kept].abs().max().item() if kept else 0.0


def check(rows: torch.Tensor) -> None:
    """Every answer for rows in their order builds them again, within the error that it states."""
    length, dim = rows.shape
    for match in identify(rows):
        if match.convention is None or match.is_ladder or match.order == "other":
            continue
        what = f"{match.name} from {match.start}"
        # The same computation, so the same number: no tolerance.
        assert away(rows, rebuilt(match.convention, dim, match.start, length), match.padding) <= match.error, what
        line = match.line()
        if not line:
            assert match.kind == "drifted", what
            continue
        built = eval(line, {"posenc": posenc})
        if isinstance(built, torch.Tensor):
            assert away(rows, built.double(), match.padding) <= match.error + 2.0**-25, line
            continue
        offset = match.convention.position_offset
        # Rows of padding that a system keeps below its offset are no position of its layer.
        first = match.start if match.start == -offset < 0 else 0
        assert away(rows, rebuilt(built.convention, dim, first, length), match.padding) <= match.error, line


def loads(rows: torch.Tensor) -> None:
    """The advice of a layer that refuses a table is followed once, and the table loads."""
    layer = PositionalEncoding(DIM, convention=Convention(base=31))
    with pytest.raises(RuntimeError) as refused:
        layer.load_state_dict({"pe": rows})
    said = str(refused.value)
    if "pass convention=" not in said:
        assert "where no layer begins" in said or "put its rows in order" in said, said
        return
    line = said.split("pass convention=")[1].rstrip(".\n").split(": it")[0].split(" (equally")[0]
    PositionalEncoding(DIM, convention=eval(line, {"posenc": posenc})).load_state_dict({"pe": rows})


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", [*ODD, "transformer", "musicgen"])
def test_what_a_name_is_identified_as_builds_its_table(name, start):
    check(table(ROWS, DIM, name, start=start))


# Two starts for each name, and each start for many names: where a table begins matters to ODD, which have all above.
@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_every_name_from_two_starts(number):
    name = NAMES[number]
    check(table(9, 16, name, start=(-1, 0, 2)[number % 3], dtype=torch.float64))
    check(table(20, 16, name, start=(-49, -2, 1, 7, 9999)[number % 5], dtype=torch.float64))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_every_name_from_every_start(name):
    for start in STARTS:
        for length in (9, 20):
            check(table(length, 16, name, start=start, dtype=torch.float64))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("option", OPTIONS)
def test_what_options_are_identified_as_builds_their_table(option, start):
    for dtype in (torch.float32,):
        check(table(ROWS, DIM, OPTIONS[option], start=start, dtype=dtype))


@pytest.mark.parametrize("start", [-49, 0, 7])
@pytest.mark.parametrize("name", ["speechbrain-relposencxl", "lex-glue-hierbert", "patchtst", "kimi-k25-time"])
def test_rows_that_are_turned_round_or_taken_by_strides(name, start):
    rows = table(ROWS, DIM, name, start=start, dtype=torch.float64)
    for some in (rows.flip(0), rows[::3], rows[1::7]):
        check(some.contiguous())


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", [*ODD, "ddpm-timestep"])
def test_the_advice_of_a_load_loads(name, start):
    loads(table(ROWS, DIM, name, start=start))


def test_a_table_of_halves_from_minus_one_is_not_that_of_kimi():
    # Whose row 0 is zeros, and whose row f encodes f - 1.
    rows = table(50, 64, "roformer", start=-1)

    assert "kimi-k25-time" not in {name for match in identify(rows) for name in (match.name, *match.names)}
    own = table(50, 64, "kimi-k25-time")
    assert own[0].abs().max() == 0
    assert torch.equal(own[1:], table(49, 64, "roformer"))
    assert identify(own)[0].name == "kimi-k25-time"
    with pytest.raises(RuntimeError, match="kimi"):
        PositionalEncoding(64, convention="kimi-k25-time").load_state_dict({"pe": rows})


def test_a_timestep_name_is_passed_as_an_object():
    best = identify(table(50, 64, "pi0-timestep"))[0]

    assert best.line() == "posenc.PositionalEncoding(64, convention=posenc.conventions['pi0-timestep'])"


def test_a_table_that_no_layer_begins_with_is_built_by_table():
    rows = table(99, 64, "speechbrain-relposencxl", start=-49)
    lines = {match.line() for match in identify(rows) if match.order == "steady"}

    assert lines == {"posenc.table(99, 64, 'speechbrain-relposencxl', start=-49)"}


@pytest.mark.parametrize("name", [name for name in systems if not systems[name].convention.axes])
def test_the_line_of_a_ladder_builds_a_layer_of_that_ladder(name):
    try:
        ladder = conventions[name].ladder(64)
    except PosencError:
        return
    steps = torch.tensor([float(step) / 2.0**128 * 2 * torch.pi for step in ladder.steps], dtype=torch.float64)
    if not bool((steps > 0).all()):
        return
    for match in identify(steps):
        built = eval(match.line(), {"posenc": posenc})
        width = 64 if isinstance(built, PositionalEncoding) else built.rotary_dim
        made = built.convention.replace(rotary_dim=None).ladder(width)
        got = torch.tensor([float(step) / 2.0**128 * 2 * torch.pi for step in made.steps], dtype=torch.float64)
        assert (got - steps).abs().max() <= match.error + 2.0**-50, match.line()


def test_the_unit_of_the_law_is_that_of_the_dtype():
    assert unit_of(torch.float32) == 2.0**-24
