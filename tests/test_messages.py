"""The exact text of every error that the core raises, and that there is no other."""

# ruff: noqa: E501  # a message stands on one line, as it is read
import ast
import dataclasses
import traceback
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.refusals import SCALINGS, STRETCHED, WRONG
from torch.fx.experimental.proxy_tensor import make_fx

import posenc
from posenc import Convention, conventions, encode, locate, shift, shift_matrix, similarity, table, wavelengths
from posenc.convention import resolve
from posenc.convention.scaling import read_scaling
from posenc.errors import ConventionError, DtypeError, InputError, PosencError, UnknownConventionError
from posenc.frequency import Ladder, Stretch, stretched

HOUSE = Path(posenc.__file__).parent
# Grids, conversions and rotations have files of their own for theirs.
ENCODE = ("algebra", "arguments", "general", "location", "prepared", "released", "values")
CORE = [HOUSE / "layout.py", HOUSE / "phase.py", HOUSE / "recipes.py"]
CORE += [path for floor in ("frequency", "convention", "trig") for path in sorted((HOUSE / floor).glob("*.py"))]
CORE += [HOUSE / "encoding" / f"{name}.py" for name in ENCODE]
# What refuses for its caller.
HELPERS = {"refuse", "_refuse", "_wrong", "only"}

ROWS = table(3, 8)
POSITIONS = "integers of any dtype but bool and uint64, or finite floats"
KNOWN = f"the {len(conventions)} names in posenc.conventions, which `posenc conventions` lists"
OPTIONS = [field.name for field in dataclasses.fields(Convention)]
HALF = torch.tensor([3000.0], dtype=torch.float16)
RELEASED = conventions["marian"].as_released()
DYNAMIC = Stretch(kind="dynamic", factor=2, trained=8)
SCALED = Convention(stretch=Stretch(kind="linear", factor=2), arithmetic="exp")
LLAMA = Stretch(kind="llama3", factor=2, trained=8)
LONG = Stretch(kind="longrope", trained=8, short=(1.0,), long=(1.0, 2.0))
TWO_PAIRS = Ladder(pairs=2, base=Fraction(10000), span=Fraction(2))
ANOTHER = "but wanted frequencies base^(-k/n), from 1 down, of positions as they are; pass the frequencies themselves, as spacing='explicit'."
RULE = "but wanted kind, and its own among factor, trained, fast, slow, ramp, low, high, short, long, turning; name a kind."
SUMMED = conventions["sam"].with_frequencies([[1, 2], [3, 4]])

# What is called, the class of the error, its text.
SLOW = Convention(first=0.001)
MESSAGES = [
    (lambda: encode(0, True), DtypeError, "got dim=True of type bool, but wanted a positive int; pass the width of your embeddings, as in dim=512."),
    (lambda: encode(0, 8.0), DtypeError, "got dim=8.0 of type float, but wanted a positive int; pass the width of your embeddings, as in dim=512."),
    (lambda: encode(0, 0), InputError, "got dim=0, but wanted a positive int; pass the width of your embeddings, as in dim=512."),
    (lambda: encode(0, 2**20 + 1), InputError, "got dim=1048577, but wanted a width of at most 1048576; pass the width of your embeddings, as in dim=512."),
    (lambda: table(3, -4), InputError, "got dim=-4, but wanted a positive int; pass the width of your embeddings, as in dim=512."),
    (lambda: encode(0, 7, "openai-whisper"), ConventionError, "got dim=7, but wanted an even width, which is all that 'openai-whisper' knows; pass dim=8, or a Convention with another rule for odd widths."),
    (lambda: encode(0, 7, Convention(odd="refuse")), ConventionError, "got dim=7, but wanted an even width, which is all that Convention(odd='refuse') knows; pass dim=8, or a Convention with another rule for odd widths."),
    (lambda: encode(0, 1, "fairseq"), ConventionError, "got dim=1, but wanted at least one pair of columns; pass dim=2 or more."),
    (lambda: encode(0, 8, Convention(endpoint_shift=5)), ConventionError, "got endpoint_shift=5 at dim=8, but wanted a shift below 4, so that the ladder has a length; pass a larger dim or a smaller endpoint_shift."),
    (lambda: encode(0, 8, "no such thing"), UnknownConventionError, f"got convention 'no such thing', but wanted one of {KNOWN}; pass a Convention for anything else."),
    (lambda: encode(torch.arange(3).to_sparse(), 8), InputError, "got positions of layout torch.sparse_coo, but wanted a dense tensor; pass positions.to_dense()."),
    (lambda: locate(torch.ones(2, 8, device="meta")), InputError, "got encoding on meta, which has no values, but wanted rows of numbers; pass real ones."),
    (lambda: encode(1, 8, Convention(position_scale=2.0**1000, arithmetic="exp")), ConventionError, "got convention Convention(position_scale=1.0715086071862673e+301, arithmetic='exp') at positions where its arithmetic overflows, but wanted angles that torch.float32 holds; use the exact convention, or smaller positions, frequencies and scales."),
    (lambda: encode(torch.nested.nested_tensor([torch.arange(3)], layout=torch.jagged), 8), InputError, "got nested positions, but wanted a dense tensor; pass torch.nested.to_padded_tensor(positions, 0)."),
    (lambda: encode(0, 8, 5), DtypeError, "got convention=5 of type int, but wanted a name or a Convention; leave it out for the usual one."),
    (lambda: encode(0, 16, "gaussian-fourier"), ConventionError, "got convention 'gaussian-fourier', whose frequencies are drawn at random or learned, but wanted those of your model; pass conventions[name].with_frequencies(tensor)."),
    (lambda: encode(0, 16, conventions["gaussian-fourier"].with_frequencies([1, 2])), ConventionError, "got dim=16 with 2 explicit frequencies, but wanted 8 of them at that width; pass the dim that they belong to."),
    (lambda: encode([0, 0], 10, "mae-2d"), ConventionError, "got dim=10, but wanted a multiple of 4, which is all that 'mae-2d' knows; pass dim=12, or a Convention with another rule for odd widths."),
    (lambda: encode([0, 0], 11, "perceiver"), ConventionError, "got dim=11, but wanted 2 and a multiple of 4, which is all that 'perceiver' knows; pass dim=14, or a Convention with another rule for odd widths."),
    (lambda: encode([0, 0], 3, "tensor2tensor-2d"), ConventionError, "got dim=3, but wanted at least one pair of columns for each axis; pass dim=4 or more."),
    (lambda: encode([0, 0, 0], 20, "diffusers-3d"), ConventionError, "got dim=20, but wanted a width that divides into even parts of (2, 3, 3); pass a multiple of twice their sum."),
    (lambda: encode(0, 8, Convention(stretch=DYNAMIC)), ConventionError, f"got convention {Convention(stretch=DYNAMIC)}, whose frequencies depend on the length of the sequence, but wanted frequencies of their own; use posenc.RotaryEmbedding, which knows the length."),
    (lambda: encode(0, 8, SCALED), ConventionError, f"got convention {SCALED} with frequencies that are scaled one by one, but wanted exact arithmetic: no order of operations is recorded for them; leave out as_released."),
    (lambda: encode(0, 16, conventions["torchtune-llama3"].as_released()), ConventionError, "got convention 'torchtune-llama3' as released with frequencies that are scaled one by one, but wanted exact arithmetic: no order of operations is recorded for them; leave out as_released."),
    (lambda: encode(0, 8, Convention(stretch=Stretch(kind="proportional", turning=9))), ConventionError, "got turning=9, but wanted at most 4 pairs; pass how many pairs turn."),
    (lambda: encode(0, 2, Convention(stretch=Stretch(kind="ntk", factor=2))), ConventionError, "got ntk scaling of one pair, but wanted at least two pairs; pass a rotary width of 4 or more."),
    (lambda: encode(0, 8, Convention(base=0.5, stretch=Stretch(kind="ntk", factor=2))), ConventionError, f"got ntk scaling of another ladder, {ANOTHER}"),
    (lambda: encode(0, 8, Convention(first=2, stretch=LLAMA)), ConventionError, f"got llama3 scaling of another ladder, {ANOTHER}"),
    (lambda: encode(0, 7, Convention(stretch=LLAMA)), ConventionError, f"got llama3 scaling of another ladder, {ANOTHER}"),
    (lambda: stretched(TWO_PAIRS, LONG), ConventionError, "got short factors for 1 pairs, but wanted 2 of them, one for each pair that turns; pass the list of the model, or its width."),
    (lambda: Stretch.from_dict({}), ConventionError, f"got stretch with nothing, {RULE}"),
    (lambda: Stretch.from_dict({"kind": "linear", "theta": 1}), ConventionError, f"got stretch with 'kind', 'theta', {RULE}"),
    (lambda: encode(0, 8, Convention(rotary_dim=0.5)), ConventionError, "got convention Convention(rotary_dim=0.5) with rotary_dim=0.5, but wanted an encoding of whole rows; use posenc.rotate or posenc.RotaryEmbedding, which turn a part of each head."),
    (lambda: Convention().as_released(), ConventionError, 'got as_released of Convention(), but wanted a convention of a system whose arithmetic is known; take one of posenc.conventions, or pass arithmetic="exp" or another recipe.'),
    (lambda: Convention().with_frequencies(5), ConventionError, "got frequencies of type int, but wanted a dense real tensor or a list, (pairs,) or (axes, pairs); pass the buffer of your checkpoint as it is."),
    (lambda: Convention().with_frequencies(torch.tensor([1j])), ConventionError, "got frequencies of torch.complex64 and shape (1,), but wanted a dense real tensor or a list, (pairs,) or (axes, pairs); pass the buffer of your checkpoint as it is."),
    (lambda: conventions["zzzz"], UnknownConventionError, f"got convention 'zzzz', but wanted one of {KNOWN}; pass a Convention for anything else."),
    (lambda: Convention(base=500, name="openai-whisper"), ConventionError, "got name='openai-whisper' with other options than that system's, but wanted its own options under the name of a system; leave name out, pass another, or take posenc.conventions['openai-whisper']."),
    (lambda: resolve("gptj", "rotary"), ConventionError, "got convention 'gptj', which is of the additive family, but wanted a name of the rotary family, such as 'llama'; did you mean 'gpt-j'? If not, use posenc.PositionalEncoding(dim, convention='gptj'), or pass posenc.conventions['gptj'] for its values here."),
    (lambda: Convention.from_dict("base"), InputError, "got a str, but wanted a dictionary of options; pass what to_dict gave."),
    (lambda: Convention.from_dict({"theta": 1}), ConventionError, f"got option 'theta', but wanted one of {', '.join(sorted(OPTIONS))}; remove it."),
    (lambda: conventions["mae-2d"].ladder(16), ConventionError, "got convention 'mae-2d' with axes ('column', 'row'), but wanted one axis; use posenc.encode or posenc.grid for several."),
    (lambda: table(3, 16, "mae-2d"), ConventionError, "got convention 'mae-2d' with axes ('column', 'row'), but wanted one axis, along which a table runs; use posenc.grid for a map, or posenc.encode for coordinates."),
    (lambda: encode([1, 2, 3], 16, "mae-2d"), InputError, "got positions of shape (3,), but wanted (..., 2) with (row, column) in the last axis, for convention 'mae-2d'; stack the coordinates with torch.stack(..., -1), or use posenc.grid for a whole map."),
    (lambda: encode(1, 16, "diffusers-3d"), InputError, "got positions of shape (), but wanted (..., 3) with (time, row, column) in the last axis, for convention 'diffusers-3d'; stack the coordinates with torch.stack(..., -1), or use posenc.grid for a whole map."),
    (lambda: make_fx(lambda p: encode(p, 8, RELEASED))(torch.arange(2)), ConventionError, "got convention 'marian' as released inside a compiled or exported graph, or beyond the CPU, but wanted eager mode on the CPU, where its kernels were recorded; compute a table before, or use the exact convention."),
    (lambda: encode(True, 8), DtypeError, f"got positions of True, but wanted {POSITIONS}; pass 0 or 1."),
    (lambda: encode(2**63, 8), InputError, "got positions of 9223372036854775808, but wanted a number within int64; subtract a common offset first."),
    (lambda: encode({1}, 8), DtypeError, f"got positions of type set (Could not infer dtype of set), but wanted {POSITIONS}; pass a tensor, a number or a list of numbers."),
    (lambda: encode([[1], [True]], 8), DtypeError, f"got positions with True in a list, but wanted {POSITIONS}; pass 0 or 1."),
    (lambda: encode(torch.tensor([True]), 8), DtypeError, f"got positions of torch.bool, but wanted {POSITIONS}; cast them with .long()."),
    (lambda: encode([1, 2**63], 8), InputError, "got positions with 9223372036854775808, but wanted numbers within int64; subtract a common offset first."),
    (lambda: encode([2**53 + 1, 0.5], 8), InputError, "got positions with 9007199254740993 beside floats, but wanted integers that float64 holds, where one position is a float; pass the integers and the floats in two calls."),
    (lambda: similarity(0, 8, Convention(gain=1e200)), ConventionError, "got gain=1e+200, which similarity squares, but wanted a gain of at most 9.48075e+153; compare rows without it."),
    (lambda: encode(0, 8, Convention(gain=1e39)), ConventionError, "got gain=1e+39 in torch.float32, but wanted values that the dtype holds, up to 3.40282e+38; pass a wider dtype, or a smaller gain."),
    (lambda: encode(0, 8, Convention(base=1e-300, spacing="powers")), ConventionError, "got a ladder whose fastest pair turns by some 2^2990 radians for each position, but wanted frequencies below 2^1024, which float64 holds: they are made of exact digits, one by one; pass a larger base, or a smaller first frequency, scale or dim."),
    (lambda: encode(1j, 8), DtypeError, f"got positions of torch.complex64, but wanted {POSITIONS}; pass positions.real."),
    (lambda: encode(torch.tensor(1, dtype=torch.uint64), 8), DtypeError, f"got positions of torch.uint64, but wanted {POSITIONS}; cast them with .long() where they fit."),
    (lambda: encode(torch.tensor(1.0, requires_grad=True), 8), InputError, "got positions that require a gradient, but wanted constants; pass positions.detach()."),
    (lambda: encode([0.0, float("nan")], 8), InputError, "got positions with a value that is NaN or infinite, but wanted finite numbers; mask or drop those positions first."),
    (lambda: encode(-(2.0**63), 8), InputError, "got positions up to 9.22337e+18, but wanted magnitudes below 2^63; subtract a common offset first."),
    (lambda: encode(HALF, 8), InputError, "got positions of torch.float16 up to 3000, but wanted magnitudes below 2048, since 2048 may be 2049 that was rounded; make positions int64 or float32 before any cast."),
    (lambda: encode(0, 8, dtype=torch.int64), DtypeError, "got dtype=torch.int64, but wanted torch's float64, float32, bfloat16 or float16; cast the result yourself."),
    (lambda: encode(0, 8, dtype="float32"), DtypeError, "got dtype='float32', but wanted torch's float64, float32, bfloat16 or float16; pass it as in torch.float32."),
    (lambda: table(2.0, 8), DtypeError, "got length=2.0 of type float, but wanted an int; pass the number of rows, as in table(5000, 512)."),
    (lambda: table(-1, 8), InputError, "got length=-1, but wanted an int that is not negative; pass the number of rows, as in table(5000, 512)."),
    (lambda: table(1, 8, start=2**63), InputError, "got start=9223372036854775808, but wanted an int from -9223372036854775808 to 9223372036854775807; pass the first position."),
    (lambda: table(3, 8, start=2**63 - 2), InputError, "got start=9223372036854775806 and length=3, but wanted positions within int64; pass a smaller start or length."),
    (lambda: table(3, 8, out=[]), DtypeError, "got out of type list, but wanted a tensor; pass torch.empty(length, dim)."),
    (lambda: table(3, 8, out=torch.empty(3, 9)), InputError, "got out of shape (3, 9), but wanted shape (3, 8); out is never resized: pass one that fits."),
    (lambda: table(3, 8, dtype=torch.float64, out=torch.empty(3, 8)), DtypeError, "got out of torch.float32 with dtype=torch.float64, but wanted one dtype; leave dtype out."),
    (lambda: table(3, 8, device="meta", out=torch.empty(3, 8)), InputError, "got out on cpu with device='meta', but wanted one device; leave device out."),
    (lambda: table(3, 8, out=torch.empty(3, 8, requires_grad=True)), InputError, "got out that autograd or inference mode protects, but wanted a plain tensor; pass a fresh torch.empty(length, dim)."),
    (lambda: table(3, 8, out=torch.empty(1, 8).expand(3, 8)), InputError, "got out whose rows share memory, but wanted one place for each value; pass out.contiguous()."),
    (lambda: shift(ROWS.to_sparse(), 1), InputError, "got encoding of layout torch.sparse_coo, but wanted a dense tensor; pass encoding.to_dense()."),
    (lambda: shift([1.0], 1), DtypeError, "got encoding of list, but wanted a float tensor; pass rows as encode gives them."),
    (lambda: shift(torch.arange(8), 1), DtypeError, "got encoding of torch.int64, but wanted a float tensor; pass rows as encode gives them."),
    (lambda: shift(torch.tensor(1.0), 1), InputError, "got encoding of shape (), but wanted (..., dim); pass at least one row."),
    (lambda: shift(ROWS, [1, 2]), InputError, "got offset of shape (2,) for rows of shape (3, 8), but wanted a shape that broadcasts against the leading axes; pass one offset, or one for each row."),
    (lambda: shift(ROWS, torch.ones(3, device="meta")), InputError, "got offset on meta and encoding on cpu, but wanted one device; move one of them."),
    (lambda: shift(torch.zeros(3, 7), 1), ConventionError, "got dim=7, but wanted an even width: shift turns pairs, and the last sine of an odd width has no cosine; pass dim=8."),
    (lambda: shift_matrix(1, 7), ConventionError, "got dim=7, but wanted an even width: shift_matrix turns pairs, and the last sine of an odd width has no cosine; pass dim=8."),
    (lambda: similarity(1, 7), ConventionError, "got dim=7, but wanted an even width: similarity turns pairs, and the last sine of an odd width has no cosine; pass dim=8."),
    (lambda: shift_matrix([1, 2], 8), InputError, "got offset of shape (2,), but wanted one number; call once for each offset."),
    (lambda: shift(torch.zeros(2, 10), 1, "hf-perceiver"), ConventionError, "got convention 'hf-perceiver', but wanted one whose rows turn with the position: shift turns pairs, and this one changes rows beyond that; use encode at the new positions."),
    (lambda: shift_matrix([1, 1], 18, "tensor2tensor-2d"), ConventionError, "got dim=18, but wanted a multiple of 4: shift_matrix turns pairs, and the last columns are cut or zero here; pass dim=20."),
    (lambda: similarity(1, 16, "mae-2d"), InputError, "got offset of shape (), but wanted (..., 2), one number for each axis of convention 'mae-2d'; pass a list of that many numbers."),
    (lambda: wavelengths(16, "diffusers-3d"), ConventionError, "got convention 'diffusers-3d', whose axes have unlike numbers of pairs, but wanted one number of pairs; read the steps of plan(dim).blocks."),
    (lambda: locate(torch.zeros(2, 4), SUMMED), ConventionError, "got convention 'sam', which adds the angles of its axes, but wanted axes with columns of their own; compare with encodings of the positions in question."),
    (lambda: locate(torch.zeros(3, 7)), ConventionError, "got dim=7, but wanted an even width: locate turns pairs, and the last sine of an odd width has no cosine; pass dim=8."),
    (lambda: locate(ROWS, Convention(base=1e60)), ConventionError, "got a frequency of zero, but wanted pairs that all turn; pass another convention."),
    (lambda: locate(ROWS, limit=0), InputError, "got limit=0, but wanted an int from 1 to 9223372036854775807; pass the number of positions to search."),
    (lambda: locate(ROWS, limit=6284), InputError, "got limit=6284, but wanted at most 6283, where the slowest pair has made one turn and positions begin to look alike; pass a smaller limit, or use a larger base."),
    (lambda: locate(ROWS * float("inf")), InputError, "got rows with NaN or infinite values, but wanted encodings; drop those rows first."),
    (lambda: locate(ROWS, limit=2), InputError, "got row 2, whose nearest encoding in [0, 2) is 0.956 away, but wanted rows within 5.96e-08 of an encoding, the rounding of torch.float32; pass rows as encode makes them, with their convention and limit."),
    (lambda: locate(encode([0, 183], 8, SLOW, dtype=torch.bfloat16), SLOW), InputError, "got row 1, which is the encoding of neighbouring positions alike, but wanted rows that differ from position to position; pass them in a wider dtype, or use a faster ladder."),
]  # fmt: skip


def raised(call) -> PosencError:
    with pytest.raises(PosencError) as caught:
        call()
    return caught.value


def origin(error: BaseException) -> tuple[str, int]:
    """File and line of the call that refused."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.name not in HELPERS]
    return Path(frames[-1].filename).name, frames[-1].lineno


def refusals(path: Path) -> set[tuple[str, int]]:
    """File and line of every call of `refuse` or of one that calls it, and of every bare raise."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name in HELPERS
        for node in ast.walk(function)
    }
    return {
        (path.name, node.lineno)
        for node in ast.walk(tree)
        if node not in inside
        and (isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and getattr(node.func, "id", "") in HELPERS))
    }


MESSAGES += [(lambda options=options: Convention(**options), ConventionError, text) for options, text in WRONG]
MESSAGES += [(lambda options=options: Stretch(**options), ConventionError, text) for options, text in STRETCHED]
MESSAGES += [(lambda given=given: read_scaling(given, 8), ConventionError, text) for given, text in SCALINGS]


@pytest.mark.parametrize(("call", "kind", "text"), MESSAGES, ids=[text[:50] for *_, text in MESSAGES])
def test_the_text(call, kind, text):
    error = raised(call)

    assert (type(error), str(error)) == (kind, text)


def test_every_refusal_of_the_core_is_here():
    seen = set()
    for call in [*(call for call, *_ in MESSAGES), *AWKWARD.values()]:
        with suppress(Exception, pytest.fail.Exception):
            seen.add(origin(raised(call)))

    assert set().union(*map(refusals, CORE)) - seen == set()


@pytest.mark.parametrize(("typed", "meant"), [("fairsq", "fairseq"), ("Transformer", "transformer")])
def test_the_nearest_name_is_offered_in_one_sentence(typed, meant):
    text = str(raised(lambda: encode(0, 8, typed)))

    assert text.startswith(f"got convention {typed!r}, but wanted one of {KNOWN}; ")
    assert repr(meant) in text.rsplit(";", maxsplit=1)[-1]
    assert "?." not in text


@pytest.mark.parametrize("offset", ["a", None, True, 2**63, [2**63], 1j, float("nan"), {1}], ids=repr)
def test_an_offset_is_called_an_offset(offset):
    for call in (lambda: shift(ROWS, offset), lambda: shift_matrix(offset, 8), lambda: similarity(offset, 8)):
        assert str(raised(call)).startswith("got offset")


AWKWARD = {
    "dim is a float tensor": lambda: encode(0, torch.tensor(8.0)),
    "dim is two numbers": lambda: encode(0, torch.tensor([8, 9])),
    "dim is an array": lambda: encode(0, np.array([8, 9])),
    "length is an array": lambda: table(np.array([8, 9]), 8),
    "start is an array": lambda: table(1, 8, start=np.array([8, 9])),
    "limit is an array": lambda: locate(ROWS, limit=np.array([8, 9])),
    "base is beyond floats": lambda: Convention(base=10**400),
    "frequencies are a number": lambda: Convention().with_frequencies(torch.tensor(1.0)),
    "frequencies have three axes": lambda: Convention().with_frequencies(torch.ones(2, 2, 2)),
    "frequencies are none": lambda: Convention().with_frequencies(torch.ones(0)),
    "frequencies are NaN": lambda: Convention().with_frequencies(torch.tensor([float("nan")])),
    "options are None": lambda: Convention.from_dict(None),
    "axes are unhashable": lambda: Convention(axes=([], {})),
    "positions of an image are strings": lambda: encode(["a", "b"], 16, "mae-2d"),
    "positions of an image are empty": lambda: encode([], 16, "mae-2d"),
    "positions are strings": lambda: encode(["a"], 8),
    "positions are ragged": lambda: encode([[1, 2], [3]], 8),
    "positions are beyond int64": lambda: encode([1, 2**63], 8),
    "positions are uint64": lambda: encode(np.array([1], dtype=np.uint64), 8),
    "no such device": lambda: encode(0, 8, device="nowhere"),
    "no such device for a table": lambda: table(3, 8, device="nowhere"),
    "positions have no data": lambda: encode(torch.empty(3, device="meta"), 8, device="cpu"),
    "out overlaps itself": lambda: table(5, 4, out=torch.empty(20).as_strided((5, 4), (1, 1))),
    "out is sparse": lambda: table(5, 4, out=torch.zeros(5, 4).to_sparse()),
}


@pytest.mark.parametrize("call", AWKWARD.values(), ids=AWKWARD)
def test_awkward_input_gets_an_error_of_ours(call):
    text = str(raised(call))

    assert text.startswith("got ")
    assert ", but wanted " in text
    assert text.endswith(".")


def test_nothing_is_written_before_a_refusal():
    out = torch.full((3, 8), 7.0)
    for bad in ({"start": 2**63}, {"convention": "no such thing"}, {"dtype": torch.float64}, {"device": "meta"}):
        raised(lambda bad=bad: table(3, 8, out=out, **bad))

    assert out.unique().tolist() == [7.0]
