"""`identify` names every convention from little of a table, and is never confidently wrong."""

import itertools

import pytest
import torch

from posenc import conventions, encode, identify, table
from posenc.convention import systems
from posenc.identification import Match

LENGTH, DIM = 64, 64
NAMES = [
    name
    for name, system in systems.items()
    if not system.convention.axes and system.convention.spacing != "explicit" and system.family != "rotary"
]
STARTS = (0, 137, 10_000)
# Beyond position 16 one row is proof enough.
ROW = 40


def known(answers, tensor):
    """The matches of a tensor, looked for once."""
    key = tensor.shape, tensor.stride(), tensor.dtype, tensor.contiguous().view(torch.uint8).numpy().tobytes()
    if key not in answers:
        answers[key] = identify(tensor)
    return answers[key]


def forms(name, start):
    """Tensors that hold rows of a convention, and the position of their first row."""
    places = torch.arange(start, start + LENGTH)
    exact, released = encode(places, DIM, name), encode(places, DIM, conventions[name].as_released())
    # Without the first: some systems hold zeros there, which show nothing.
    some = 1 + torch.randperm(LENGTH - 1)[:8]
    yield "exact", exact, start
    yield "released", released, start
    yield "float16", released.half(), start
    yield "bfloat16", released.bfloat16(), start
    yield "transposed", released.t(), start
    yield "transposed bfloat16", exact.bfloat16().t(), start
    yield "8 rows", released[some], start + int(some[0])
    yield "8 rows float16", released[some].half(), start + int(some[0])
    yield "8 rows bfloat16", exact[some].bfloat16(), start + int(some[0])
    yield "8 rows of a released table in bfloat16", released[some].bfloat16(), start + int(some[0])
    yield "8 rows in order", exact[some.sort().values], start + int(some.min())
    yield "one row", released[ROW : ROW + 1], start + ROW
    yield "one row alone", exact[ROW], start + ROW
    yield "one released row alone", released[ROW], start + ROW


def check_named(matches, name, start, form):
    """The system, or one that has the same values, comes first, and the system's own numbering is told."""
    best = matches[0]
    assert best.kind == "named", (name, form, start, str(best))
    assert name in (best.name, *best.names, *best.shifted), (name, form, start, str(best))
    own = next(match for match in matches if match.name == name)
    if own.convention == conventions[name]:
        assert own.start == start, (name, form, start, own.start)
    else:
        # Rows that run the other way in the numbering of this system: the start is part of the convention.
        assert conventions[name].position_scale < 0 or "backwards" in own.note


def test_every_convention_is_named_from_its_released_table():
    answers = {}
    for name in NAMES:
        released = table(LENGTH, DIM, conventions[name].as_released())
        check_named(known(answers, released), name, 0, "released")


@pytest.mark.parametrize(
    "name", ["transformer", "hf-whisper", "fairseq", "marian", "musicgen", "patchtst", "diffusers-timestep-scaled"]
)
@pytest.mark.parametrize("start", [0, 9, 10_000])
def test_a_convention_is_named_from_every_form_of_little(name, start):
    for form, tensor, first in forms(name, start):
        check_named(identify(tensor), name, first, form)


@pytest.mark.slow
def test_every_convention_is_named_from_every_form_of_little():
    answers = {}
    # Every name in every form, from every start, and every form from every start; not all three at once, which is
    # for the test below: what a form loses does not depend on where it begins.
    for number, name in enumerate(NAMES):
        for offset, start in enumerate(STARTS):
            for form, tensor, first in itertools.islice(forms(name, start), (number + offset) % 3, None, 3):
                check_named(known(answers, tensor), name, first, form)


@pytest.mark.exhaustive
def test_every_convention_is_named_from_every_form_and_start():
    answers = {}
    for name, start in itertools.product(NAMES, STARTS):
        for form, tensor, first in forms(name, start):
            check_named(known(answers, tensor), name, first, form)


@pytest.mark.parametrize("dim", [8, 10, 130, 512, 7, 33])
def test_widths(dim):
    for name in ("transformer", "marian", "tensor2tensor"):
        for dtype in (torch.float32, torch.bfloat16):
            check_named(identify(table(40, dim, name, dtype=dtype, start=5)), name, 5, (dim, dtype))


@pytest.mark.parametrize("dim", [2, 3])
def test_narrow_tables_begin_where_they_can_begin_first(dim):
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        assert identify(table(64, dim, dtype=dtype))[0].start == 0


def test_the_very_bits_tell_whose_table_it_is():
    exact = identify(table(50, 32, "openai-whisper"))[0]
    released = identify(table(50, 32, conventions["openai-whisper"].as_released()))[0]
    other = identify(table(50, 32) + 2.0**-25)[0]

    assert (exact.arithmetic, released.arithmetic, other.arithmetic) == ("exact", "exp", "float32")
    assert exact.error < released.error < 1e-5


def test_far_beyond_the_reach_of_the_search():
    match = identify(table(64, 64, start=1_000_000))[0]

    assert (match.kind, match.name, match.start) == ("named", "transformer", 1_000_000)


# What is random is not named.


def circles(length, dim, layout):
    """Sines and cosines of random angles, a pair each."""
    angle = torch.rand(length, (dim + 1) // 2) * 6.2831853
    waves = angle.sin(), angle.cos()
    return (torch.stack(waves, -1).flatten(1) if layout == "interleaved" else torch.cat(waves, 1))[:, :dim]


DISTRIBUTIONS = {
    "normal": torch.randn,
    "uniform": lambda n, d: torch.rand(n, d) * 2 - 1,
    "positive": torch.rand,
    "small": lambda n, d: torch.randn(n, d) * 0.02,
    "squashed": lambda n, d: torch.randn(n, d).tanh(),
    "tiny": lambda n, d: torch.randn(n, d) * 1e-30,
    "unit rows": lambda n, d: torch.nn.functional.normalize(torch.randn(n, d), dim=1),
    "sines": lambda n, d: torch.sin(torch.randn(n, d) * 10),
    "signs": lambda n, d: torch.randint(0, 2, (n, d)) * 2.0 - 1,
    "bits": lambda n, d: torch.randint(0, 2, (n, d)).float(),
    "circles": lambda n, d: circles(n, d, "interleaved" if n % 2 else "halves"),
}
WIDTHS = (1, 2, 3, 4, 6, 8, 16, 24, 31, 48, 64, 80)
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


# One table of every width and dtype; many more where there is time.
@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_random_tables_are_unknown(kind, rounds):
    found = []
    for dim, dtype, _ in itertools.product(WIDTHS, DTYPES, range(rounds)):
        length = int(torch.randint(1, 81, ()))
        made = DISTRIBUTIONS[kind](length, dim)
        # float16 has no numbers as small as these.
        match = identify(made if kind == "tiny" else made.to(dtype))[0]
        found += [f"{length} x {dim} {dtype}: {match}"] if match.kind != "unknown" else []

    assert found == []


@pytest.mark.slow
def test_many_small_random_tables_are_unknown():
    # Every length, width and kind; in one dtype or the other, as the sum of their numbers is even or odd.
    for length, dim in itertools.product(range(1, 9), (1, 2, 3, 4, 5, 6, 8)):
        for number, make in enumerate(DISTRIBUTIONS.values()):
            dtype = (torch.bfloat16, torch.float32)[(length + dim + number) % 2]
            match = identify(make(length, dim).to(dtype))[0]
            assert match.kind == "unknown", (length, dim, dtype, str(match))


def test_rows_that_are_related_are_learned():
    walk = torch.randn(128, 64).cumsum(0)

    assert identify(walk)[0].kind == "learned"
    assert identify(walk[torch.randperm(128)])[0].kind == "unknown"


# Matches keep their word.


def rebuilt(match, length):
    """The rows that a match says a table holds."""
    return encode(torch.arange(match.start, match.start + length), match.dim, match.convention, dtype=torch.float64)


@pytest.mark.parametrize(
    "name", ["transformer", "fairseq", "musicgen", "x-transformers", "timesfm-min4", "pi0-timestep"]
)
@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows,
        lambda rows: rows.flip(0),
        lambda rows: rows[::3],
        lambda rows: rows.bfloat16(),
        lambda rows: rows[1::7].flip(0).half(),
        lambda rows: rows + 0.1 * rows.std() * torch.randn_like(rows),
        lambda rows: rows * 3,
    ],
    ids=["whole", "backwards", "every 3rd", "bfloat16", "backwards 16 bits", "drifted", "times 3"],
)
def test_the_convention_of_a_match_is_as_far_off_as_it_says(name, change):
    given = change(table(120, 32, name, start=3))
    match = identify(given)[0]

    assert match.convention is not None, str(match)
    away = (rebuilt(match, len(given)) - given.double()).abs()
    assert away.max().item() == pytest.approx(match.error, rel=1e-6, abs=1e-15)
    relative = (away.square().mean() / given.double().square().mean()).sqrt().item()
    assert relative == pytest.approx(match.relative_error, rel=1e-6, abs=1e-15)


def test_the_first_fields_of_a_match_are_frozen():
    first = ["name", "convention", "start", "error", "relative_error", "arithmetic", "dtype", "kind"]

    assert list(Match.__dataclass_fields__)[:8] == first


@pytest.mark.parametrize("shape", [(2**20 + 4,), (2, 2**20 + 4)])
def test_rows_wider_than_any_encoding_have_no_convention(shape):
    # A bias, or a vocabulary along the last axis: no ladder of that width is ever made.
    assert identify(torch.rand(shape))[0].convention is None
