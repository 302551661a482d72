"""What real systems put out, by their names: bit for bit as released, and by mathematics within their own error."""

import json
import re
from collections import Counter
from contextlib import suppress
from functools import cache

import pytest
import torch
from tests import golden
from tests.golden import FOLDER, STEMS, Record, check_released, how, records
from tests.judge import truth, unit
from tests.named import TABLES

from posenc import Convention, SequenceEmbedding, conventions, encode, grid, recipes
from posenc.errors import ConventionError

RECORDS = [record for stem in STEMS for record in records(stem)]
# Decided before any value is compared, by the ladders that this machine makes.
COMPARED = [(record, how(record)) for record in RECORDS]
ELSEWHERE = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem.startswith(golden.ELSEWHERE))
MAPS = [record for record in RECORDS if "grid" in record.said and "mask_is_padding" not in record.said]
# Law 2: float64 values, absolute. Sums of phases and gains: half a unit, and what float64 and a step are off by.
FLOAT64_ERROR = 1e-15
HALF, STEP = 0.5 + 2.0**-10, 2.0**-100


def label(value) -> str:
    return value.label if isinstance(value, Record) else re.sub(r"\W+", "-", str(value))


class Summary:
    """Says below the tests how the records were compared."""

    def pytest_terminal_summary(self, terminalreporter) -> None:
        counted = Counter(comparison for _, comparison in COMPARED)
        said = ", ".join(f"{count} {comparison}" for comparison, count in counted.items())
        terminalreporter.write_line(f"records of real systems as released: {said}")


@pytest.fixture(scope="module", autouse=True)
def said_in_the_summary(request):
    request.config.pluginmanager.register(Summary(), "golden-summary")


@pytest.mark.parametrize(("record", "comparison"), COMPARED, ids=label)
def test_as_released(record, comparison):
    check_released(record, comparison)


@pytest.mark.parametrize("record", RECORDS, ids=label)
def test_by_mathematics(record):
    ours = encode(record.exact, record.dim, record.convention, dtype=torch.float64)

    # What the notes call mathematics is float64, whose phases are off by half a unit of themselves.
    notes = 2.0**-53 * record.exact.abs().max().item() + FLOAT64_ERROR
    assert (ours - record.rows.double()).abs().max() <= record.system_error + record.unit + notes


def values_of(convention: Convention, dim: int) -> tuple:
    """What decides the values of a convention at one width."""
    plan = convention.plan(dim)
    changes = convention.zero_rows, convention.position_sign, convention.standardised_rows
    return dim, plan.blocks, plan.gain, plan.inputs, changes


def distinct() -> list[Record]:
    """One record of all that hold the same encoding."""
    found = {}
    for record in RECORDS:
        found.setdefault((values_of(record.convention, record.dim), str(record.exact)), record)
    return list(found.values())


@pytest.mark.parametrize("record", distinct(), ids=label)
def test_ours_are_right(record):
    places = record.exact.tolist()
    true = [truth(position, record.dim, record.convention) for position in places]
    for dtype in (torch.float64, torch.float32):
        ours = encode(record.exact, record.dim, record.convention, dtype=dtype).tolist()
        for position, row, right in zip(places, ours, true, strict=True):
            for column, (got, value) in enumerate(zip(row, right, strict=True)):
                allowed = FLOAT64_ERROR if dtype == torch.float64 else unit(value, dtype) * HALF + STEP
                assert abs(got - value) <= allowed, (position, column, got, float(value))


@cache
def fitting(axes: tuple, dim: int) -> list[str]:
    """The names of these axes that hold different values at a width."""
    found = {}
    for name in TABLES:
        convention = conventions[name]
        if tuple(sorted(convention.axes)) == axes and convention.spacing != "explicit":
            with suppress(ConventionError):
                found.setdefault(values_of(convention, dim), name)
    return list(found.values())


@cache
def candidates(axes: tuple, dim: int, places: tuple) -> list[tuple[str, torch.Tensor]]:
    """The encodings that names of these axes give these places, each once."""
    return [(name, encode(places, dim, name, dtype=torch.float64)) for name in fitting(axes, dim)]


@pytest.mark.parametrize("record", RECORDS, ids=label)
def test_no_other_name_fits(record):
    places = record.exact.tolist()
    own = encode(record.exact, record.dim, record.convention, dtype=torch.float64)
    key = tuple(map(tuple, places)) if record.convention.axes else tuple(places)
    for name, other in candidates(tuple(sorted(record.convention.axes)), record.dim, key):
        # What differs at all differs by far more than a system is wrong.
        off = (other - record.rows.double()).abs().max()
        assert torch.equal(other, own) or off > 1000 * record.unit + 2 * record.system_error, name


def test_a_ladder_that_is_rounded_differently_is_compared_by_phase(monkeypatch):
    record = next(r for r in RECORDS if r.label == "hf_xglm-16")
    exact = recipes._LADDERS["exp"]
    # The third frequency alone, to its neighbour.
    up = torch.tensor([0.0, 0, 2, 0, 0, 0, 0, 0])
    monkeypatch.setitem(
        recipes._LADDERS, "exp", lambda ladder: torch.where(up > 0, exact(ladder).nextafter(up), exact(ladder))
    )

    assert how(record) == "by phase: another ladder"
    check_released(record, how(record))
    with pytest.raises(AssertionError, match="is off by"):
        check_released(record, "bit for bit")


def test_sines_that_are_rounded_differently_are_compared_by_phase(monkeypatch):
    whole = golden.known()["waves"]
    for kind, is_meant in (("float32", lambda record: not golden.is_wide(record)), ("float64", golden.is_wide)):
        monkeypatch.setattr(golden, "waves", lambda kind=kind: {**whole, f"sin {kind}": "of another kernel"})
        moved = {record.label for record in RECORDS if how(record) == "by phase: other sines"}

        # A ladder of another kernel is told first.
        assert moved == {r.label for r in RECORDS if is_meant(r) and how(r) != "by phase: another ladder"}
        assert moved


def test_every_phase_is_that_of_its_value():
    # Where the comparison by phase takes its allowance from.
    for record in RECORDS[::7]:
        sizes, rows = golden.phases(record), record.rows.double().abs()
        off = torch.minimum((rows - sizes.sin().abs()).abs(), (rows - sizes.cos().abs()).abs())
        waves = (sizes > 0) & (rows > 0)
        if not record.convention.standardised_rows and record.convention.gain == 1:
            assert off[waves].max() <= record.system_error + record.unit


@pytest.mark.parametrize("record", MAPS, ids=label)
def test_a_map_is_a_grid(record):
    said, axes = record.said, len(record.said["grid"])
    trained = {"trained_sizes": 16} if record.stem == "diffusers_2d_sincos_nonsquare" else {}
    whole = grid(said["grid"], record.dim, record.convention.as_released(), dtype=record.values.dtype, **trained)
    order = list(range(axes))
    if record.stem in ("hf_omdet_turbo", "timm_sincos2d_rev1_il0", "timm_sincos2d_rev1_il1"):
        # These flatten their maps column by column.
        order.reverse()
    rows = whole.permute(*order, axes).flatten(0, -2)

    assert (rows.double() - record.rows.double()).abs().max() <= record.recipe_error


def test_a_class_token_has_a_row_of_zeros_before_the_grid():
    for record in records("mae_2d_sincos_cls"):
        rows = grid((4, 4), record.dim, "mae-2d-cls", dtype=torch.float64).flatten(0, 1)
        joined = torch.cat([torch.zeros(len(record.convention.zero_rows), record.dim, dtype=torch.float64), rows])

        assert (joined - record.values).abs().max() <= record.system_error + record.unit
        assert record.values[0].count_nonzero() == 0


def test_padding_has_rows_of_zeros_and_counts_no_columns():
    for record in records("fairseq_sinusoidal_padded"):
        tokens = torch.tensor(record.said["tokens"])
        front = SequenceEmbedding(100, record.dim, 0.0, convention="fairseq", padding_idx=1)
        front.embedding.weight.detach().zero_()
        rows = front(tokens).reshape(record.values.shape).detach()

        assert (rows - record.values).abs().max() <= record.system_error + record.unit
        assert torch.equal(rows.count_nonzero(-1) == 0, (tokens == 1).flatten())


def test_a_padded_map_is_encoded_by_the_fractions_of_its_valid_cells():
    for record in records("detr_sine_2d_padded"):
        valid = ~torch.tensor(record.said["mask_is_padding"], dtype=torch.bool)
        inside = valid.any(1).sum().item(), valid.any(0).sum().item()
        whole = grid(inside, record.dim, "detr-2d-normalized")
        rows = record.values.view(*valid.shape, record.dim)[: inside[0], : inside[1]]

        assert (whole - rows).abs().max() <= record.system_error + record.unit


def test_every_file_says_what_it_is():
    files = sorted(FOLDER.glob("*.json"))
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/(home|root|tmp|usr|work|mnt)/", text), path.stem
        for said in json.loads(text):
            assert all(said[key] for key in ("system", "version", "source", "call", "how")), path.stem
    assert len(files) == 147
    assert {path.stem for path in files} == {*STEMS, *ELSEWHERE}
    assert len(RECORDS) == 266


def test_every_file_has_the_name_of_its_system():
    for stem in STEMS:
        assert conventions[stem] is conventions[stem.replace("_", "-")]
        assert conventions.canonical(stem) is not None


def test_far_positions_and_both_parities_are_there():
    assert max(record.exact.abs().max().item() for record in RECORDS) == 4095
    assert {record.dim % 2 for record in RECORDS} == {0, 1}
    assert {record.convention.released_as for record in RECORDS} == set(recipes.RECIPES)


@pytest.mark.skip(reason="rope_* are read by test_rotate.py, alibi_* by test_alibi.py, t5_* by test_relative.py")
def test_rotations_and_biases():
    """Records of other uses of a ladder, and of none."""
