"""The exact text of every error of the makers of positions, and that there is no other."""

# ruff: noqa: E501  # a message stands on one line, as it is read
import ast
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
import torch

import posenc
from posenc import conventions, positions_from_lengths, positions_from_mask, shard_positions
from posenc.errors import ConventionError, DtypeError, InputError, PosencError
from posenc.positions import (
    cumulative_lengths,
    decoding_positions,
    grid_positions,
    last_positions,
    next_positions,
    positions_from_timestamps,
    positions_of_map,
    rolling_positions,
    shard_indices,
)

HOUSE = Path(posenc.__file__).parent / "positions"
# What refuses for its caller.
HELPERS = {"refuse", "_too_few", "_too_far", "_indivisible"}
MASK = torch.tensor([[1, 1, 0], [1, 1, 1]])
SWAP = "pass the mask under its other name if it is the other way round, or drop that row."
ADDED = "for a mask that is added to scores pass attention_mask=mask == 0"
META = torch.ones(2, dtype=torch.int64, device="meta")
BEYOND = f"{2**63}"
DAYS = np.array(["2024-01-01", "2024-01-02"], "datetime64[D]")
FAR = "got timestamps and an origin whose difference int64 does not hold, but wanted differences within int64; pass an origin nearer to them, a coarser resolution, or a larger unit."
NAT = "got timestamps with NaT, but wanted timestamps that all exist; drop those, or put others in their place."

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
MESSAGES = [
    (positions_from_mask, InputError, "got no mask, but wanted one mask; pass attention_mask where non-zero is real, or key_padding_mask where True is padding."),
    (lambda: positions_from_mask(MASK, key_padding_mask=MASK), InputError, "got both attention_mask and key_padding_mask, but wanted one mask; pass attention_mask where non-zero is real, or key_padding_mask where True is padding."),
    (lambda: next_positions(MASK, key_padding_mask=MASK), InputError, "got both attention_mask and key_padding_mask, but wanted one mask; pass attention_mask where non-zero is real, or key_padding_mask where True is padding."),
    (lambda: positions_from_mask([1, 1]), DtypeError, "got attention_mask of type list, but wanted a tensor of shape (..., S); wrap it in torch.tensor."),
    (lambda: positions_from_mask(torch.ones(2) * 1j), DtypeError, "got attention_mask of torch.complex64, but wanted bool, or integers or floats of 0 and 1; cast it."),
    (lambda: positions_from_mask(torch.tensor(1)), InputError, "got attention_mask of shape (), but wanted (..., S); add an axis."),
    (lambda: positions_from_mask(torch.ones(2).to_sparse()), InputError, "got attention_mask of layout torch.sparse_coo, but wanted a dense tensor; pass attention_mask.to_dense()."),
    (lambda: positions_from_mask(torch.tensor([0.0, 0.5])), InputError, f"got attention_mask of torch.float32 with the value 0.5, but wanted floats of 0 and 1 alone; {ADDED}, else a bool mask."),
    (lambda: positions_from_mask(torch.tensor([0.0, -torch.inf])), InputError, f"got attention_mask of torch.float32 with the value -inf, but wanted floats of 0 and 1 alone; {ADDED}, else a bool mask."),
    (lambda: positions_from_mask(key_padding_mask=torch.tensor([torch.nan]).half()), InputError, f"got key_padding_mask of torch.float16 with the value nan, but wanted floats of 0 and 1 alone; {ADDED}, else a bool mask."),
    (lambda: positions_from_mask(torch.tensor([0, -10000])), InputError, f"got attention_mask with the value -10000, but wanted integers of at least 0; {ADDED}, else a bool mask."),
    (lambda: positions_from_mask(torch.tensor([[1, 1], [0, 0]])), InputError, f"got attention_mask with a row at 1 that is all padding, but wanted something real in every row; {SWAP}"),
    (lambda: positions_from_mask(torch.zeros(3)), InputError, f"got attention_mask with a row that is all padding, but wanted something real in every row; {SWAP}"),
    (lambda: next_positions(key_padding_mask=torch.ones(1, 2, 3) > 0), InputError, f"got key_padding_mask with a row at (0, 0) that is all padding, but wanted something real in every row; {SWAP}"),
    (lambda: positions_from_mask(MASK, filler=0.0), DtypeError, "got filler=0.0 of type float, but wanted an int; pass the position that padding gets, as in filler=0."),
    (lambda: positions_from_mask(MASK, filler=2**63), InputError, f"got filler={BEYOND}, but wanted an int from -{BEYOND} to {2**63 - 1}; pass the position that padding gets, as in filler=0."),
    (positions_of_map, InputError, "got no mask, but wanted one mask; pass pixel_mask where non-zero is real, or padding_mask where True is padding."),
    (lambda: positions_of_map(torch.ones(3)), InputError, "got pixel_mask of shape (3,), but wanted (..., H, W); add an axis."),
    (lambda: positions_of_map(torch.ones(3, 2), convention="diffusers-3d"), InputError, "got pixel_mask of shape (3, 2), but wanted (..., size 0, size 1, size 2); add an axis."),
    (lambda: positions_of_map(padding_mask=torch.ones(3, 2)), InputError, "got padding_mask with a map that is all padding, but wanted something real in every map; pass the mask under its other name if it is the other way round, or drop that map."),
    (lambda: positions_of_map(MASK, convention="transformer"), ConventionError, "got convention 'transformer' of one axis, but wanted one of several axes; use positions_from_mask for a sequence."),
    (lambda: positions_of_map(MASK, convention=conventions["perceiver"].as_released()), ConventionError, "got convention 'perceiver' as released, but wanted the exact convention: the system itself has no arithmetic for padded maps; leave as_released out."),
    (lambda: grid_positions(()), DtypeError, "got sizes=(), but wanted a tuple of ints, one for each axis; pass a tuple with one size for each axis, as in (14, 14)."),
    (lambda: grid_positions((3, -1)), InputError, "got sizes[1]=-1, but wanted an int that is not negative; pass a tuple with one size for each axis, as in (14, 14)."),
    (positions_from_lengths, InputError, "got no lengths, but wanted one of them; pass lengths=[2, 3], or cu_seqlens=[0, 2, 5]."),
    (lambda: positions_from_lengths([2], cu_seqlens=[0, 2]), InputError, "got both lengths and cu_seqlens, but wanted one of them; pass lengths=[2, 3], or cu_seqlens=[0, 2, 5]."),
    (lambda: positions_from_lengths(5), InputError, "got lengths of shape (), but wanted (..., n); pass one length for each document, as in [2, 3]."),
    (lambda: positions_from_lengths(cu_seqlens=[]), InputError, "got cu_seqlens of shape (0,), but wanted (..., n + 1); pass one length for each document, as in [2, 3]."),
    (lambda: positions_from_lengths([2.0, 3.0]), DtypeError, "got lengths of torch.float32, but wanted integers; make lengths int64 before any cast."),
    (lambda: positions_from_lengths([True]), DtypeError, "got lengths of torch.bool, but wanted integers; pass lengths as int64."),
    (lambda: positions_from_lengths(torch.tensor([2, 3]).to_sparse()), InputError, "got lengths of layout torch.sparse_coo, but wanted a dense tensor; pass lengths.to_dense()."),
    (lambda: positions_from_lengths("23"), DtypeError, "got lengths of type str (new(): invalid data type 'str'), but wanted integers within int64; pass a tensor, or a list of ints."),
    (lambda: positions_from_lengths([2, -1]), InputError, "got a length of -1, but wanted lengths of at least 0; pass the number of tokens of each document."),
    (lambda: positions_from_lengths([2**62, 2**62]), InputError, "got lengths whose sum int64 does not hold, but wanted as many as the memory holds; pass the number of tokens of each document."),
    (lambda: positions_from_lengths(cu_seqlens=[0, 3, 2]), InputError, "got cu_seqlens that go down, but wanted ends that never go down; pass ends in their order, or plain lengths as lengths=."),
    (lambda: positions_from_lengths(cu_seqlens=[2, 5]), InputError, "got cu_seqlens that start with [2], but wanted 0 first; prepend 0."),
    (lambda: positions_from_lengths([2, 3], total=6), InputError, "got lengths that add up to 5, with total=6, but wanted the same number of tokens; pass what was packed, with padding as a document of its own."),
    (lambda: positions_from_lengths([[2, 3], [2, 2]]), InputError, "got lengths that add up to 4, with 5 in the first row, but wanted the same number of tokens; pass what was packed, with padding as a document of its own."),
    (lambda: positions_from_lengths([2, 3], total=5.0), DtypeError, "got total=5.0 of type float, but wanted an int; pass the number of tokens, as in x.shape[1]."),
    (lambda: positions_from_lengths([2, 3], documents=True), InputError, "got documents=True, but wanted 'restart' or 'continue'; choose one of these."),
    (lambda: positions_from_lengths(META), InputError, "got lengths on meta without total, where no value may be looked at, but wanted the number of all tokens; pass total=x.shape[1]."),
    (lambda: positions_from_lengths(META, total=2, device="cpu"), InputError, "got lengths on meta with device=cpu, but wanted one device; leave device out."),
    (lambda: cumulative_lengths(torch.zeros(3, 1, 4, dtype=torch.int64)), InputError, "got positions of shape (3, 1, 4), but wanted shape (S,); pass one row at a time; coordinates of several axes are no packing."),
    (lambda: decoding_positions(-1), InputError, "got length=-1, but wanted an int that is not negative; pass the number of tokens, as in x.shape[1]."),
    (lambda: decoding_positions(1, 2.0), DtypeError, "got offset=2.0 of type float, but wanted an int; pass the number of tokens before, or a tensor with one for each row."),
    (lambda: decoding_positions(1, torch.tensor(2.0)), DtypeError, "got offset of torch.float32, but wanted integers; make offset int64 before any cast."),
    (lambda: decoding_positions(2, 2**63 - 1), InputError, f"got 2 positions from {2**63 - 1} on, but wanted positions within int64; pass a smaller offset or length."),
    (lambda: decoding_positions(2, torch.tensor(2**63 - 1)), InputError, f"got offset up to {2**63 - 1} with length=2, but wanted positions within int64; pass smaller numbers."),
    (lambda: last_positions(3, 2), InputError, "got total=2 with length=3, but wanted a total that counts the new tokens too; pass the number of keys after the new ones have been joined."),
    (lambda: last_positions(3, torch.tensor([5, 2])), InputError, "got total=2 with length=3, but wanted a total that counts the new tokens too; pass the number of keys after the new ones have been joined."),
    (lambda: rolling_positions(3, 0), InputError, f"got window=0, but wanted an int from 1 to {2**63 - 1}; pass the number of slots."),
    (lambda: rolling_positions(-1, 4), InputError, "got seen=-1, but wanted an int that is not negative; pass how many tokens came so far."),
    (lambda: rolling_positions(torch.tensor([2, -1]), 4), InputError, "got seen down to -1, but wanted numbers of tokens, of at least 0; pass how many came so far."),
    (lambda: rolling_positions(3, 4, order="newest"), InputError, "got order='newest', but wanted 'ring' or 'oldest-first'; choose one of these."),
    (lambda: shard_positions(8, 2, 2), InputError, "got rank=2, but wanted an int from 0 to 1; ranks count from 0, below world_size."),
    (lambda: shard_positions(8, -1, 2), InputError, "got rank=-1, but wanted an int from 0 to 1; ranks count from 0, below world_size."),
    (lambda: shard_positions(8, 0, 0), InputError, f"got world_size=0, but wanted an int from 1 to {2**63 - 1}; pass the number of ranks."),
    (lambda: shard_positions(8, 0, 2, kind="ring"), InputError, "got kind='ring', but wanted 'contiguous' or 'zigzag' or 'striped'; choose one of these."),
    (lambda: shard_positions(13, 0, 2, kind="zigzag"), InputError, 'got length=13 with kind="zigzag", but wanted a multiple of 4, so that all parts are equal; pad it.'),
    (lambda: shard_positions(8, 0, 2, cut="each"), InputError, 'got cut="each" without documents, but wanted the lengths of the documents to cut; pass lengths or cu_seqlens, or leave cut out.'),
    (lambda: shard_indices(8, 0, 2, cut="each", lengths=[5, 3]), InputError, 'got a document of length 5 with kind="contiguous", but wanted a multiple of 2, so that all parts are equal; pad it.'),
    (lambda: shard_positions(8, 0, 2, lengths=[5, 4]), InputError, "got lengths that add up to 9, with total=8, but wanted the same number of tokens; pass what was packed, with padding as a document of its own."),
    (lambda: shard_positions(8, 0, 2, lengths=[5, 3], documents="each"), InputError, "got documents='each', but wanted 'restart' or 'continue'; choose one of these."),
    (lambda: positions_from_timestamps(torch.tensor([1.5]), "s"), DtypeError, "got timestamps of torch.float32, but wanted integers; pass the integer timestamps; seconds in float64 are positions already."),
    (lambda: positions_from_timestamps([1.5], "s"), DtypeError, 'got timestamps of float64, but wanted integers, datetime64 or timedelta64; convert them, as in numpy.array(times, "datetime64[ns]").'),
    (lambda: positions_from_timestamps([NOON, NOON.replace(tzinfo=None)], "s"), InputError, "got timestamps with and without a zone, but wanted all with one, or all without; give each its zone."),
    (lambda: positions_from_timestamps(torch.tensor([1]), "lap"), InputError, "got unit='lap', but wanted 'ns' or 'us' or 'ms' or 's' or 'min' or 'h' or 'day' or 'week', or a word as 'hour' or 'hours'; choose one of these."),
    (lambda: positions_from_timestamps(torch.tensor([1]), "s", resolution="lap"), InputError, "got resolution='lap', but wanted 'ns' or 'us' or 'ms' or 's' or 'min' or 'h' or 'day' or 'week', or a word as 'hour' or 'hours'; choose one of these."),
    (lambda: positions_from_timestamps(DAYS, "s", resolution="day"), InputError, "got resolution='day' with timestamps of datetime64, but wanted a resolution only for integers; leave it out: times know their own."),
    (lambda: positions_from_timestamps(torch.tensor([1]), "s", fractions="round"), InputError, "got fractions='round', but wanted 'keep' or 'refuse' or 'drop'; choose one of these."),
    (lambda: positions_from_timestamps(torch.tensor([1, 90]), "min", resolution="s", fractions="refuse"), InputError, 'got timestamps between two units of min, but wanted whole units since the origin; pass a smaller unit, or fractions="keep" or "drop".'),
    (lambda: positions_from_timestamps(np.array(["NaT", "2024"], "datetime64[s]"), "s"), InputError, NAT),
    (lambda: positions_from_timestamps(torch.tensor([-(2**63)]), "week", resolution="ns"), InputError, NAT),
    (lambda: positions_from_timestamps(DAYS, "s", origin=np.datetime64("NaT", "s")), InputError, "got origin=NaT, but wanted a timestamp that exists; pass another origin."),
    (lambda: positions_from_timestamps(DAYS, "s", origin=5), DtypeError, "got origin=5 for timestamps of datetime64, but wanted an origin of datetime64; pass numpy.datetime64, with its unit."),
    (lambda: positions_from_timestamps(DAYS, "s", origin=np.timedelta64(5, "s")), DtypeError, "got origin of timedelta64 for timestamps of datetime64, but wanted an origin of datetime64; pass numpy.datetime64, with its unit."),
    (lambda: positions_from_timestamps(torch.tensor([1]), "s", resolution="ns", origin=DAYS), InputError, "got origin of shape (2,), but wanted shape () or (1,); pass one origin, or one for each row."),
    (lambda: positions_from_timestamps(torch.tensor([[1]]), "s", resolution="ns", origin=torch.tensor([1, 2])), InputError, "got origin of shape (2,), but wanted shape () or (1, 1) or (1,); pass one origin, or one for each row."),
    (lambda: positions_from_timestamps(torch.tensor([1]), "s"), InputError, 'got integer timestamps without a resolution, but wanted what one count of them is; pass resolution="s" where they are Unix seconds, or "ms", "us", "ns".'),
    (lambda: positions_from_timestamps([NOON, None], "s"), DtypeError, "got timestamps of datetime, NoneType, but wanted times, or spans of time; pass one kind of them."),
    (lambda: positions_from_timestamps(META, "s", resolution="ns", origin=torch.tensor(1)), InputError, "got origin on cpu, timestamps on meta, but wanted one device; move one of them."),
    (lambda: positions_from_timestamps(torch.tensor([2**62]), "s", resolution="ns", origin=-(2**62) - 2**61), InputError, FAR),
    (lambda: positions_from_timestamps(torch.tensor([2**62]), "s", resolution="ns", origin=2**64), InputError, FAR),
    (lambda: positions_from_timestamps(torch.tensor([-2]), "s", resolution="ns", origin=2**63 - 1), InputError, FAR),
    (lambda: positions_from_timestamps(torch.tensor([2**62]), "ns", resolution="s"), InputError, FAR),
    (lambda: positions_from_timestamps(np.array([5]).astype("timedelta64[M]"), "s"), InputError, "got timestamps of timedelta64[M], but wanted units of one length, up to weeks; pass days, or dates."),
    (lambda: positions_from_timestamps(np.array([2**62]).astype("datetime64[Y]"), "s"), InputError, "got timestamps of datetime64[Y] beyond int64 in days, but wanted dates within int64; pass nearer dates."),
    (lambda: positions_from_timestamps(np.array([5]).astype("timedelta64"), "s"), InputError, 'got timestamps of timedelta64 without a unit, but wanted a unit; pass it, as in numpy.timedelta64(5, "s").'),
    (lambda: positions_from_timestamps([[DAYS[0]], [*DAYS]], "s"), InputError, "got timestamps of type list (setting an array element with a sequence), but wanted rows of one length; pad them first."),
    (lambda: positions_from_timestamps([DAYS[:0]], "s"), InputError, "got timestamps without times, but wanted at least one; pass integers with their resolution for none."),
    (lambda: positions_from_timestamps([np.datetime64(2**62, "s"), np.datetime64(1, "ns")], "s"), InputError, "got timestamps that int64 does not hold in the finest of their resolutions, but wanted times within int64; pass them in a coarser one, or nearer ones."),
    (lambda: decoding_positions(2**62), InputError, None),
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
    """File and line of every call of what refuses, but inside the helpers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name in HELPERS
        for node in ast.walk(function)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and id(node) not in inside]
    return {(path.name, node.lineno) for node in calls if getattr(node.func, "id", "") in HELPERS}


@pytest.mark.parametrize(("call", "kind", "text"), MESSAGES, ids=[str(text)[:60] for *_, text in MESSAGES])
def test_the_text(call, kind, text):
    error = raised(call)

    assert type(error) is kind
    if text is not None:
        assert str(error) == text
    assert str(error).startswith("got ")
    assert ", but wanted " in str(error)


def test_every_refusal_is_here():
    seen = set()
    for call, *_ in MESSAGES:
        with suppress(pytest.fail.Exception):
            seen.add(origin(raised(call)))

    assert set().union(*map(refusals, HOUSE.glob("*.py"))) - seen == set()
