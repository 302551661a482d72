"""Checkpoints of scaled rotary models: frequencies and cosines load stretched or plain, others are refused."""

from __future__ import annotations

import math

import pytest
import torch
from tests import golden
from tests.checkpoints import FLOATS, angles, inverse, refused, sound
from tests.scalings import DYNAMIC, LLAMA3, LONGROPE, YARN

from posenc import Convention, RotaryEmbedding
from posenc.modules.rotary_loading import stretch_error

STEMS = sorted(path.stem for path in golden.FOLDER.glob("rope_scaling_*.json"))
RECORDS = [(stem, said) for stem in STEMS for said in golden.read(stem)]


@pytest.mark.parametrize(("stem", "said"), RECORDS, ids=[f"{stem}-{said['dim']}" for stem, said in RECORDS])
def test_frequencies_of_transformers_load_stretched_and_plain(stem, said):
    params = said["params"]
    scaling = {**params["rope_parameters"], "max_position_embeddings": params["max_position_embeddings"]}
    rotary = RotaryEmbedding(said["dim"], scaling=scaling)
    stretched = torch.tensor(said["values"][0])
    plain = inverse(scaling["rope_theta"], said["dim"])
    for ladder in (stretched, plain):
        for dtype in FLOATS:
            sound(rotary, {"inv_freq": ladder.to(dtype)})
        # A hundredth is more than any of these dtypes leaves.
        assert "off by" in refused(rotary, {"inv_freq": ladder * 1.01})


@pytest.mark.parametrize("factor", [2.0, 8.0, 32.0])
@pytest.mark.parametrize(
    ("base", "width", "trained"), [(10000.0, 80, 2048), (500000.0, 96, 8192), (500000.0, 128, 8192)]
)
def test_float32_arithmetic_of_llama_3_stays_within_its_bound(base, width, trained, factor):
    low, high = 1.0, 4.0
    scaling = {"rope_type": "llama3", "rope_theta": base, "factor": factor, "low_freq_factor": low,
               "high_freq_factor": high, "original_max_position_embeddings": trained}  # fmt: skip
    # In the order of operations of transformers.
    inv = inverse(base, width)
    wavelen = 2 * torch.pi / inv
    made = torch.where(wavelen > trained / low, inv / factor, inv)
    smooth = (trained / wavelen - low) / (high - low)
    smoothed = (1 - smooth) * made / factor + smooth * made
    made = torch.where((wavelen >= trained / high) & (wavelen <= trained / low), smoothed, made)

    sound(RotaryEmbedding(width, scaling=scaling), {"inv_freq": made})


@pytest.mark.parametrize("factor", [4.0, 40.0, 64.0])
def test_float32_arithmetic_of_yarn_stays_within_its_bound(factor):
    # With ends that are not whole, the slowest pair of the ramp is off by more than a plain ladder may be.
    base, width, trained, fast, slow = 10000.0, 128, 4096, 32.0, 1.0
    scaling = {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": trained, "truncate": False}
    first, last = (width * math.log(trained / (n * 2 * math.pi)) / (2 * math.log(base)) for n in (fast, slow))
    # In the order of operations of transformers.
    frequency = base ** (torch.arange(0, width, 2).float() / width)
    kept = 1 - ((torch.arange(width // 2).float() - first) / (last - first)).clamp(0, 1)
    made = 1.0 / (factor * frequency) * (1 - kept) + 1.0 / frequency * kept

    sound(RotaryEmbedding(width, scaling=scaling), {"inv_freq": made})


def test_the_share_of_llama_3_needs_what_its_bound_allows():
    # A pair at the slow end of the ramp: w is off by e, its turns too, and the result by up to factor times more.
    rule = RotaryEmbedding(8, scaling=LLAMA3)._rule
    plain, stretched = torch.tensor([1.0, 0.1]).double(), torch.tensor([1.0, 0.0126]).double()
    allowed = stretch_error(plain, stretched, rule, 10000.0)
    # By hand: 4 units, and 4 / 3 * (4 + 4.605 * 2 + 4) + 2 units times 0.1 / 0.0126.
    by_hand = (4 + (4 / 3 * (4 + 2 * 2.302585093 + 4) + 2) * 0.1 / 0.0126) * 2.0**-24

    assert allowed[1].item() == pytest.approx(by_hand, rel=1e-9)
    assert stretch_error(plain, plain, None, 10000.0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("scaling", [DYNAMIC, LONGROPE, YARN, LLAMA3, {"type": "linear", "factor": 4.0}], ids=str)
def test_cosines_load_stretched_or_plain_times_the_attention_factor_or_not(scaling):
    rotary = RotaryEmbedding(8, scaling=scaling)
    x = torch.zeros(1, 40, 8, dtype=torch.float64)
    x[..., :4] = 1
    gain = rotary.attention_factor
    rotary.attention_factor = 1.0
    cosine = rotary.rotate(x, length=40)[0, :, :4].float()
    rotary.attention_factor = gain
    for each in (cosine, cosine * gain, angles(10000, 8, 40).cos()):
        sound(rotary, {"cos_cached": each})
        assert "off by" in refused(rotary, {"cos_cached": each * 0.99})


def test_every_ladder_of_longrope_and_dynamic_scaling_loads():
    longrope, dynamic = RotaryEmbedding(8, scaling=LONGROPE), RotaryEmbedding(8, scaling=DYNAMIC)
    base = inverse(10000, 8)
    for factors in ([1, 1, 1, 1], LONGROPE["short_factor"], LONGROPE["long_factor"]):
        sound(longrope, {"inv_freq": base / torch.tensor(factors)})
    assert "off by" in refused(longrope, {"inv_freq": base / torch.tensor([1.0, 2.0, 3.0, 3.0])})
    for length in (8, 9, 40, 1000):
        grown = 10000 * (4 * length / 8 - 3) ** (8 / 6)
        for dtype in FLOATS:
            sound(dynamic, {"inv_freq": inverse(grown, 8).to(dtype)})
    # The base of no length: its last pair is that of 40, the others are not.
    wrong = inverse(10000 * (4 * 40 / 8 - 3) ** (8 / 6), 8)
    wrong[1] *= 1.01
    assert "off by" in refused(dynamic, {"inv_freq": wrong})


@pytest.mark.parametrize(
    "scaling",
    [
        {"rope_type": "llama3", "rope_theta": 500000, "factor": 8, "original_max_position_embeddings": 8192,
         "low_freq_factor": 1, "high_freq_factor": 4},
        {"rope_type": "yarn", "rope_theta": 10000, "factor": 4, "original_max_position_embeddings": 4096,
         "beta_fast": 32, "beta_slow": 1},
        {"rope_type": "linear", "rope_theta": 10000, "factor": 4},
    ],
    ids=lambda scaling: scaling["rope_type"],
)  # fmt: skip
def test_a_module_without_the_scaling_of_the_checkpoint_is_told_it(scaling):
    made = RotaryEmbedding(128, scaling=scaling)
    said = refused(RotaryEmbedding(128), {"inv_freq": torch.tensor(_angles_at_one(made), dtype=torch.float64).float()})
    assert f"pass scaling={scaling}." in said


def _angles_at_one(rotary: RotaryEmbedding) -> list[float]:
    x = torch.zeros(1, 1, rotary.dim, dtype=torch.float64)
    x[..., : rotary.dim // 2] = 1
    made = rotary.rotate(x, positions=[1])[0, 0]
    return torch.atan2(made[rotary.dim // 2 :], made[: rotary.dim // 2]).tolist()


def test_scaled_by_its_convention():
    rotary = RotaryEmbedding(64, "torchtune-llama3")
    sound(rotary, {"inv_freq": torch.tensor(_angles_of(rotary))})
    sound(rotary, {"inv_freq": inverse(rotary.convention.base)})
    assert "off by" in refused(rotary, {"inv_freq": inverse(10000)})


def _angles_of(rotary: RotaryEmbedding) -> list[float]:
    eye = torch.eye(rotary.dim, dtype=torch.float64)[:, None]
    turned = rotary.rotate(eye, positions=[1])[:, 0]
    cos, sin = turned[0::2, 0::2].diagonal(), turned[0::2, 1::2].diagonal()
    return torch.atan2(sin, cos).tolist()


def test_trained_frequencies_are_told_where_they_belong():
    inv = inverse(10000) * (1 + 0.05 * torch.rand(32))
    assert "where the frequencies were trained, pass a posenc.Convention" in refused(
        RotaryEmbedding(64), {"freqs": inv}
    )
    own = Convention(spacing="explicit", layout="halves").with_frequencies(inv)
    sound(RotaryEmbedding(64, own), {"freqs": inv})
