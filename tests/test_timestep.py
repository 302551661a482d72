"""The embedding of diffusion times: values, every kind of time, casts, derivatives, refusals."""

from __future__ import annotations

import copy
import io
import json
import math
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.strategies import DTYPES
from torch import nn

from posenc import Convention, TimestepEmbedding, conventions, encode
from posenc.convention import systems
from posenc.errors import ConventionError, DtypeError, InputError, UnknownConventionError

SYSTEMS = Path(__file__).parent / "data" / "systems"
PRESETS = [name for name, system in systems.items() if system.subject == "timestep"]
TIMES = torch.tensor([0, 0.3, 5.7, 250, 999])
# Of |phase| up to 4.1e6 radians in float32, where a system multiplies times by 1000.
SYSTEM_ERROR = {"diffusers_timestep_scaled": 0.25, "hf_pi0_timestep": 1.5e-4}


def by_hand(t: torch.Tensor, dim: int) -> torch.Tensor:
    """DiT's formula in float64, differentiable: cosines, then sines."""
    frequencies = 10000.0 ** (-torch.arange(dim // 2, dtype=torch.float64) / (dim // 2))
    angles = t.double().unsqueeze(-1) * frequencies
    return torch.cat([angles.cos(), angles.sin()], -1)


# ---- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_presets_give_what_encode_gives(name):
    embed = TimestepEmbedding(8, name)

    assert torch.equal(embed(TIMES), encode(TIMES, 8, name))
    assert torch.equal(embed(torch.arange(1000)), encode(torch.arange(1000), 8, name))


def test_by_hand():
    # DDPM: sines then cosines, the last frequency is 1 / 10000.
    got = TimestepEmbedding(4, dtype=torch.float64)(torch.tensor(3))
    assert got.tolist() == pytest.approx([math.sin(3), math.sin(3e-4), math.cos(3), math.cos(3e-4)], abs=1e-16)
    # DiT: cosines first, 1 / 100.
    got = TimestepEmbedding(4, "dit-timestep", dtype=torch.float64)(3)
    assert got.tolist() == pytest.approx([math.cos(3), math.cos(0.03), math.sin(3), math.sin(0.03)], abs=1e-16)
    # pi0: periods from 0.004 to 4.
    got = TimestepEmbedding(4, "pi0-timestep", dtype=torch.float64)(0.7)
    angles = [2 * math.pi * 0.7 / 4e-3, 2 * math.pi * 0.7 / 4]
    assert got.tolist() == pytest.approx([*map(math.sin, angles), *map(math.cos, angles)], abs=1e-12)


def test_the_presets_that_are_named_are_there():
    named = {"ddpm", "adm", "dit", "stable-diffusion", "score-sde", "pi0"}

    assert {f"{name}-timestep" for name in named} <= set(PRESETS)
    assert torch.equal(TimestepEmbedding(8)(TIMES), TimestepEmbedding(8, "score-sde-timestep")(TIMES))
    assert torch.equal(TimestepEmbedding(8, "adm-timestep")(TIMES), TimestepEmbedding(8, "dit_timestep")(TIMES))


def records() -> list:
    stems = {path.stem: path for path in sorted(SYSTEMS.glob("*.json")) if conventions.canonical(path.stem)}
    return [
        pytest.param(stem, record, id=f"{stem}-{record['dim']}")
        for stem, path in stems.items()
        if systems[conventions.canonical(stem)].subject == "timestep"
        for record in json.loads(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(("stem", "record"), records())
def test_real_systems(stem, record):
    values = torch.tensor(record["values"])
    times = torch.tensor(record["positions"])

    assert torch.equal(TimestepEmbedding(record["dim"], conventions[stem].as_released())(times), values)
    exact = TimestepEmbedding(record["dim"], stem)(times)
    assert (exact - values).abs().max() <= SYSTEM_ERROR.get(stem, 6e-5)


def test_there_are_records_to_read():
    assert len({param.values[0] for param in records()}) >= 7


# ---- what comes in, what goes out ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (2, 1, 4), (0,), (3, 0)])
def test_any_shape(shape):
    t = torch.rand(shape) * 1000

    assert TimestepEmbedding(6)(t).shape == (*shape, 6)
    assert torch.equal(TimestepEmbedding(6)(t), encode(t, 6, "ddpm-timestep"))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, *DTYPES], ids=str)
def test_any_dtype_in(dtype):
    t = torch.tensor([0, 1, 7, 100]).to(dtype)

    got = TimestepEmbedding(8)(t)

    assert got.dtype == torch.float32
    assert torch.equal(got, encode([0, 1, 7, 100], 8, "ddpm-timestep"))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_any_dtype_out(dtype):
    assert torch.equal(TimestepEmbedding(8, dtype=dtype)(TIMES), encode(TIMES, 8, "ddpm-timestep", dtype=dtype))


def test_the_default_dtype_is_that_of_the_making():
    torch.set_default_dtype(torch.float64)
    try:
        embed = TimestepEmbedding(8)
    finally:
        torch.set_default_dtype(torch.float32)

    assert embed(TIMES).dtype == torch.float64


def test_numbers_and_lists():
    embed = TimestepEmbedding(8)

    assert torch.equal(embed(3), embed(torch.tensor(3)))
    assert torch.equal(embed([1, 2.5]), embed(torch.tensor([1, 2.5])))
    assert embed(16777217).equal(embed(torch.tensor(16777217)))


def test_half_precision_is_taken_as_it_came_and_warned_of_once():
    times = {torch.float16: 3000.0, torch.bfloat16: 300.0}
    for dtype, top in times.items():
        embed, t = TimestepEmbedding(8), torch.tensor([0.5, top]).to(dtype)
        with pytest.warns(UserWarning, match=f"times of {dtype} up to .* neighbouring times are one number") as caught:
            first = embed(t)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert torch.equal(embed(t), first)
            # Below, nothing merges.
            TimestepEmbedding(8)(torch.tensor([0.5, 200.0]).to(dtype))
        assert torch.equal(first, encode(t.double(), 8, "ddpm-timestep"))


@pytest.mark.parametrize(
    "t",
    [
        np.array([0.5, 3000.0], dtype=np.float16),
        [0.5, np.float16(3000)],
        (torch.tensor(0.5), torch.tensor(3000.0).half()),
    ],
    ids=["an array", "a list of numbers", "a tuple of tensors"],
)
def test_half_precision_in_arrays_and_lists_is_taken_as_in_tensors(t):
    embed = TimestepEmbedding(8)
    with pytest.warns(UserWarning, match=r"times of torch.float16 up to 3000 came") as caught:
        got = embed(t)

    assert caught[0].filename == __file__
    assert torch.equal(got.view(2, 8), encode([0.5, 3000.0], 8, "ddpm-timestep"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(embed(t), got)
        assert torch.equal(TimestepEmbedding(8)(np.float16(2047)), encode(2047, 8, "ddpm-timestep"))


def test_autocast_changes_nothing():
    embed = TimestepEmbedding(8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = embed(TIMES)

    assert inside.dtype == torch.float32
    assert torch.equal(inside, embed(TIMES))


# ---- life of a module ----------------------------------------------------------------------------------------------


def test_no_state():
    embed = TimestepEmbedding(8)
    assert embed.state_dict() == {}
    assert not [*embed.parameters(), *embed.buffers()]
    embed.load_state_dict({})
    with pytest.raises(RuntimeError, match="Unexpected key"):
        embed.load_state_dict({"weight": torch.zeros(1)})


def test_repr_says_all():
    assert repr(TimestepEmbedding(8)) == "TimestepEmbedding(8, convention='ddpm-timestep', dtype=torch.float32)"
    own = TimestepEmbedding(8, Convention(base=500), dtype=torch.float16, device="cpu")
    assert repr(own) == "TimestepEmbedding(8, convention=Convention(base=500), dtype=torch.float16, device='cpu')"
    released = TimestepEmbedding(8, conventions["dit-timestep"].as_released())
    assert "'dit-timestep' as released" in repr(released)


def test_copies():
    embed = TimestepEmbedding(8, "dit-timestep", dtype=torch.float16)
    file = io.BytesIO()
    torch.save(embed, file)
    file.seek(0)

    for other in (copy.deepcopy(embed), pickle.loads(pickle.dumps(embed)), torch.load(file, weights_only=False)):
        assert repr(other) == repr(embed)
        assert torch.equal(other(TIMES), embed(TIMES))


def test_a_cast_of_the_model_casts_the_result():
    model = nn.Sequential(TimestepEmbedding(8), nn.Linear(8, 4))

    for dtype in (torch.bfloat16, torch.float64, torch.float32):
        assert model.to(dtype)(TIMES).dtype == dtype
        # Rounded once, whatever it was cast to before.
        assert torch.equal(model[0](TIMES), encode(TIMES, 8, "ddpm-timestep", dtype=dtype))
    with pytest.raises(DtypeError, match=r"cast of the layer to torch\.complex64"):
        model[0]._apply(lambda tensor: tensor.to(torch.complex64))
    assert model[0].dtype == torch.float32
    model.share_memory()


def test_devices():
    embed = TimestepEmbedding(8)
    assert embed(TIMES.to("meta")).is_meta
    assert embed.to("meta")(TIMES).device.type == "cpu"
    with torch.device("meta"):
        assert embed(3).is_meta
    there = TimestepEmbedding(8, device="meta")
    assert there(TIMES).is_meta
    assert there.to_empty(device="cpu")(TIMES).device.type == "cpu"
    assert torch.equal(there(TIMES), embed(TIMES))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_gpu_is_at_most_one_unit_away():
    embed, t = TimestepEmbedding(64), torch.rand(1000) * 1000

    assert (embed(t.cuda()).cpu() - embed(t)).abs().max() <= 2.0**-24


# ---- refusals ------------------------------------------------------------------------------------------------------

REFUSED = [
    (torch.tensor([True]), DtypeError, "t of torch.bool"),
    (torch.tensor([1], dtype=torch.uint64), DtypeError, "t of torch.uint64"),
    (torch.tensor([1j]), DtypeError, "t of torch.complex64"),
    (torch.tensor([0.5, torch.nan]), InputError, "NaN or infinite"),
    (torch.tensor([torch.inf]).half(), InputError, "NaN or infinite"),
    (float("nan"), InputError, "NaN or infinite"),
    (torch.tensor([1e30]), InputError, "magnitudes below 2"),
    (2**70, InputError, "within int64"),
    (True, DtypeError, "t of True"),
    ("now", DtypeError, "t of type str"),
    (None, DtypeError, "t of type NoneType"),
    ([None], DtypeError, "t of type list"),
]


@pytest.mark.parametrize(("t", "error", "words"), REFUSED, ids=[str(case[0]) for case in REFUSED])
@pytest.mark.filterwarnings("ignore:times of")
def test_refused_times(t, error, words):
    with pytest.raises(error, match=words):
        TimestepEmbedding(8)(t)


def test_refused_settings():
    for arguments, error, words in [
        (("8",), DtypeError, "dim='8'"),
        ((0,), InputError, "dim=0"),
        ((8, "no-such"), UnknownConventionError, "no-such"),
        ((8, conventions["mae-2d"]), ConventionError, r"convention 'mae-2d' with axes .* wanted one axis: the time"),
        ((7, "denoising-diffusion-pytorch"), ConventionError, "an even width"),
        ((8, "gaussian-fourier"), ConventionError, "with_frequencies"),
        ((8, conventions["gpt-neox-rotary"]), ConventionError, "rotary_dim=0.5, but wanted an encoding of whole rows"),
    ]:
        with pytest.raises(error, match=words):
            TimestepEmbedding(*arguments)
    with pytest.raises(DtypeError, match="int64"):
        TimestepEmbedding(8, dtype=torch.int64)
    with pytest.raises(InputError, match="nowhere"):
        TimestepEmbedding(8, device="nowhere")


def test_learned_frequencies():
    convention = conventions["gaussian-fourier"].with_frequencies(torch.tensor([1.5, -0.25]))
    got = TimestepEmbedding(4, convention, dtype=torch.float64)(0.3)

    angles = [2 * math.pi * 0.3 * 1.5, -2 * math.pi * 0.3 * 0.25]
    assert got.tolist() == pytest.approx([*map(math.sin, angles), *map(math.cos, angles)], abs=1e-15)
