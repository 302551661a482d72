"""What Hypothesis draws for the tests of the core: positions, widths, conventions, dtypes."""

import torch
from hypothesis import settings
from hypothesis import strategies as st
from tests.judge import FORMATS, MP

from posenc import Convention
from posenc.frequency import Stretch

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
# Where a digit, a block, a float or the dtype ends.
EDGES = sorted(
    {
        near
        for edge in (0, 2**8, 2**16, 2**24, 2**32, 2**42, 2**53, 2**56, 2**62, 2**63)
        for sign in (1, -1)
        for near in (sign * edge - 1, sign * edge, sign * edge + 1)
        if INT64_MIN <= near <= INT64_MAX
    }
)
DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
AXES = [("row", "column"), ("column", "row"), ("z", "x", "y"), ("time", "column", "row"), ("x1", "y1", "x2", "y2")]

# The same examples on every machine, and nothing kept between runs.
modest = settings(deadline=None, max_examples=50, derandomize=True)
few = settings(deadline=None, max_examples=20, derandomize=True)


def positions() -> st.SearchStrategy[int]:
    """Every int64, all sizes alike, the edges often."""
    sized = st.integers(0, 63).flatmap(lambda bits: st.integers(-(2**bits), 2**bits - 1))
    return st.one_of(st.sampled_from(EDGES), sized)


def float_positions() -> st.SearchStrategy[float]:
    """Float64 positions below 2^63 in size, all sizes alike, subnormal ones too."""
    below = float.fromhex("0x1.fffffffffffffp62")
    special = st.sampled_from([0.0, -0.0, 0.5, -0.5, 5e-324, 1e-20, 2.0**53 + 2, -(2.0**-53), below, -below])
    return st.one_of(special, st.floats(-below, below), st.floats(-1e4, 1e4))


def places(convention: Convention, one: st.SearchStrategy) -> st.SearchStrategy:
    """Positions as a convention takes them: a number, or one for each of its axes."""
    return st.lists(one, min_size=len(convention.axes), max_size=len(convention.axes)) if convention.axes else one


def dims(smallest: int = 1) -> st.SearchStrategy[int]:
    """Widths: each small one, and some on both sides of a group of pairs."""
    return st.one_of(st.integers(smallest, 24), st.sampled_from([64, 127, 128, 129, 130, 258]))


def conventions(odd: str | None = None, smallest_first: float = 1e-3) -> st.SearchStrategy[Convention]:
    """Whole conventions of one axis of plain pairs that fit every width from 4 on."""
    return st.builds(
        Convention,
        base=st.one_of(st.sampled_from([10000, 500000, 1e12, 2, 0.5, 10000.5]), st.floats(1.5, 1e9)),
        first=st.one_of(st.just(1), st.floats(smallest_first, 1e3)),
        endpoint_shift=st.sampled_from([0, 1, 0.5, -1]),
        layout=st.sampled_from(["interleaved", "halves"]),
        order=st.sampled_from(["sine-first", "cosine-first"]),
        odd=st.sampled_from(["truncate", "pad", "round-up"]) if odd is None else st.just(odd),
        position_offset=st.sampled_from([0, 2, -1, 0.5, 2**40, -0.1]),
        position_scale=st.sampled_from([1, -1, 1000, 0.125]),
    )


def _frequencies() -> st.SearchStrategy[float]:
    return st.one_of(st.integers(-3000, 3000).map(lambda n: n / 97), st.floats(1e-4, 1), st.just(0.0))


@st.composite
def _ladder(draw: st.DrawFn, axes: int, pairs: int, spacing: str) -> dict:
    """The options that say what the frequencies are."""
    if spacing == "explicit":
        row = st.lists(_frequencies(), min_size=pairs, max_size=pairs).map(tuple)
        given = draw(st.one_of(row, st.tuples(*[row] * axes)) if axes > 1 else row)
        return {"spacing": spacing, "frequencies": given}
    first = draw(st.sampled_from([1, 3.141592653589793, 0.25, 40]))
    if spacing == "powers":
        return {"spacing": spacing, "first": first, "base": draw(st.sampled_from([0.5, 2, 1.25]))}
    shift = draw(st.sampled_from([0, 1, 0.5]))
    one = st.floats(0.01, 500)
    last = draw(st.one_of(one, st.tuples(*[one] * axes)) if axes > 1 else one)
    if spacing == "linear":
        return {"spacing": spacing, "first": first, "last": last, "endpoint_shift": shift}
    named = draw(st.sampled_from([{"last": last}, {"base": 10000}, {"base": 0.01}, {"base": 7.5}]))
    return {"first": first, "endpoint_shift": shift, **named}


@st.composite
def encodings(draw: st.DrawFn, turned: bool = False) -> tuple[Convention, int]:
    """A convention with any of its options, and a width that it fits: its axes, ladders, layouts, gains, inputs.

    turned: a shift of the position turns every pair, and no column holds anything else.
    """
    axes = draw(st.sampled_from([(), *AXES]))
    count = len(axes) or 1
    spacing = draw(st.sampled_from(["geometric", "geometric", "powers", "linear", "explicit"]))
    pairs = draw(st.integers(1, 6))
    options = draw(_ladder(count, pairs, spacing))
    options["layout"] = draw(st.sampled_from(["interleaved", "halves"]))
    options["order"] = draw(st.sampled_from(["sine-first", "cosine-first"]))
    options["gain"] = draw(st.sampled_from([1, 1, "inverse-root", 0.1, -3]))
    offset = st.sampled_from([0, 2, -1, 0.5, 2**40, -0.1])
    scale = st.sampled_from([1, -1, 1000, 0.125])
    each = draw(st.booleans()) and count > 1
    options["position_offset"] = draw(st.tuples(*[offset] * count) if each else offset)
    options["position_scale"] = draw(st.tuples(*[scale] * count) if each else scale)
    linear, part = Stretch(kind="linear", factor=3), Stretch(kind="proportional", factor=0.5, turning=1)
    options["stretch"] = draw(st.sampled_from([None, None, None, linear, part]))
    summed = False
    if axes:
        options["axes"] = axes
        options["axis_layout"] = draw(st.sampled_from(["outer", "middle", "inner"]))
        summed = spacing == "explicit" and draw(st.booleans())
        if summed:
            options["axis_layout"] = "sum"
    unit = 2 if summed else 2 * count
    dim = pairs * unit
    if not turned:
        options |= draw(
            st.sampled_from([{}, {"zero_rows": (0, 3)}, {"zero_rows": (-2,)}, {"position_sign": "dropped"}])
        )
        places = ["none", "none", "prefix", "suffix"]
        if axes and options["axis_layout"] == "outer":
            places.append("suffix-per-axis")
        options["include_input"] = draw(st.sampled_from(places))
        dim += count if options["include_input"] != "none" else 0
        options["odd"] = draw(st.sampled_from(["truncate", "pad", "round-up", "refuse"]))
        if options["odd"] == "pad":
            dim += draw(st.integers(0, unit - 1))
        elif options["odd"] != "refuse":
            dim -= draw(st.integers(0, unit - 1 if pairs > 1 else 0))
    return Convention(**options), dim


def dtypes() -> st.SearchStrategy[torch.dtype]:
    """The four dtypes that values are rounded to."""
    return st.sampled_from(DTYPES)


def near_ties(dtype: torch.dtype, count: int = 40) -> list[Convention]:
    """Conventions whose sine or cosine of position 1 lies so near a tie of `dtype` that float64 cannot decide it."""
    precision, _ = FORMATS[dtype]
    found = []
    for i in range(count):
        # An odd multiple of half a unit between 1/2 and 1.
        half_units = 2**precision + (2 * (i * 7919 % 2 ** (precision - 1)) + 1)
        inverse = MP.asin if i % 2 else MP.acos
        found.append(Convention(first=float(inverse(MP.ldexp(half_units, -precision - 1)))))
    return found
