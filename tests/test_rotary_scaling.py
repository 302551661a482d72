"""Scaling dictionaries as models carry them: what they say, in both spellings."""

import pytest
import torch
from tests import golden
from tests.rotations import by_hand
from tests.scalings import DYNAMIC, LONGROPE, YARN, frequencies

from posenc import Convention, RotaryEmbedding, rotate
from posenc.convention.scaling import read_scaling
from posenc.errors import ConventionError, InputError
from posenc.frequency import Stretch

STEMS = sorted(path.stem for path in golden.FOLDER.glob("rope_scaling_*.json"))
RECORDS = [(stem, said) for stem in STEMS for said in golden.read(stem)]
IDS = [f"{stem}-{said['dim']}" for stem, said in RECORDS]
# Frequencies of float32 from a power, a reciprocal and a product; the ramps of YaRN and Llama 3 take a difference too,
# which costs Llama 3's up to 11 units (tests/test_rotate.py derives them).
UNITS = {"llama3": 11, "yarn": 8}


def turned(rotary: RotaryEmbedding, positions: list, **options) -> torch.Tensor:
    """The angles of its pairs at positions (n, pairs), modulo a turn."""
    x = torch.zeros(len(positions), rotary.dim, dtype=torch.float64)
    x[:, : rotary.dim // 2] = 1
    made = rotary(x, x, positions=positions, **options)[1]
    return torch.atan2(made[:, rotary.dim // 2 :], made[:, : rotary.dim // 2])


# ---- real systems --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stem", "said"), RECORDS, ids=IDS)
@pytest.mark.parametrize("spelling", ["rope_type", "type"])
def test_records_of_transformers(stem, said, spelling):
    params = said["params"]
    scaling = {spelling if name == "rope_type" else name: value for name, value in params["rope_parameters"].items()}
    scaling["max_position_embeddings"] = params["max_position_embeddings"]
    rotary = RotaryEmbedding(said["dim"], scaling=scaling)
    values = torch.tensor(said["values"][0], dtype=torch.float64)
    made = frequencies(rotary, params["seq_len"])

    # float32 decimals, and 4 roundings.
    assert ((made - values).abs() <= values * UNITS.get(params["type"], 4) * 2.0**-24).all()
    assert torch.equal(made == 0, values == 0)
    assert rotary.attention_factor == said["attention_factor"]


def test_every_file_is_looked_at():
    assert len(STEMS) == 9
    assert {said["params"]["type"] for _, said in RECORDS} == {
        "dynamic", "linear", "llama3", "longrope", "proportional", "yarn",
    }  # fmt: skip


def test_frequencies_are_what_turns():
    rotary = RotaryEmbedding(8, scaling={"rope_type": "linear", "factor": 4.0})

    assert (turned(rotary, [1, 2]) - frequencies(rotary) * torch.tensor([[1], [2]])).abs().max() < 1e-15


# ---- what each field does ------------------------------------------------------------------------------------------


def test_none_linear_and_dynamic_by_their_phases():
    # B143: the frequencies times 8, 2 and 8 within the trained length.
    base = 10000 ** -(torch.arange(4, dtype=torch.float64) / 4)
    for scaling, factor in ((None, 8), ({"rope_type": "linear", "factor": 4.0}, 2)):
        assert (turned(RotaryEmbedding(8, scaling=scaling), [8]) - factor * base).remainder(
            2 * torch.pi
        ).sin().abs().max() < 1e-14
    dynamic = turned(RotaryEmbedding(8, scaling=DYNAMIC), [8], length=8)
    assert (dynamic - 8 * base).sin().abs().max() < 1e-14
    assert torch.equal(dynamic, turned(RotaryEmbedding(8), [8]))


def test_the_base_of_the_configuration():
    # B135: 500000 is used, wherever it stands, or an error comes.
    expected = frequencies(RotaryEmbedding(8, base=500000))
    for scaling in ({"rope_theta": 500000.0}, {"rope_type": "default", "rope_theta": 500000}):
        assert torch.equal(frequencies(RotaryEmbedding(8, scaling=scaling)), expected)
        assert torch.equal(frequencies(RotaryEmbedding(8, base=500000, scaling=scaling)), expected)
    with pytest.raises(ConventionError, match="a dictionary for each of 'nested'"):
        RotaryEmbedding(8, scaling={"nested": {"rope_theta": 500000}})
    with pytest.raises(ConventionError, match="scaling with 'base'"):
        RotaryEmbedding(8, scaling={"base": 500000})


def test_the_fraction_of_a_head():
    for kind in (
        {"rope_type": "default"},
        {"rope_type": "linear", "factor": 2.0},
        {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 64},
    ):
        rotary = RotaryEmbedding(16, scaling={**kind, "partial_rotary_factor": 0.5})
        assert rotary.rotary_dim == 8
        assert torch.equal(frequencies(rotary), frequencies(RotaryEmbedding(8, scaling=kind)))
    # 8 of 16 columns are half of them.
    assert RotaryEmbedding(16, rotary_dim=8, scaling={"partial_rotary_factor": 0.5}).rotary_dim == 8


@pytest.mark.parametrize("length", [5, 3000])
def test_proportional_keeps_the_ladder_of_the_whole_head(length):
    rotary = RotaryEmbedding(64, scaling={"rope_type": "proportional", "partial_rotary_factor": 0.25})
    x = torch.randn(1, 4, length, 64)
    made, whole = rotary(x, x)[0], RotaryEmbedding(64)(x, x)[0]
    turning = [*range(8), *range(32, 40)]
    still = [*range(8, 32), *range(40, 64)]

    assert torch.equal(made[..., turning], whole[..., turning])
    assert torch.equal(made[..., still], x[..., still])


def test_attention_factors():
    yarn = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 64}
    # B145: the ratio where both fields are there, as transformers has it, else the plain rule.
    assert RotaryEmbedding(8, scaling={**yarn, "mscale": 1.0, "mscale_all_dim": 1.0}).attention_factor == 1.0
    for more in ({}, {"mscale": 1.0}, {"mscale_all_dim": 1.0}, {"mscale": 1.0, "mscale_all_dim": 0}):
        assert RotaryEmbedding(8, scaling={**yarn, **more}).attention_factor == pytest.approx(1.277259, abs=1e-6)
    said = {**yarn, "mscale": 1.0, "mscale_all_dim": 0.8}
    assert RotaryEmbedding(8, scaling=said).attention_factor == pytest.approx(1.2772589 / 1.2218071, abs=1e-6)
    assert RotaryEmbedding(8, scaling={**said, "attention_factor": 1.5}).attention_factor == 1.5
    assert RotaryEmbedding(8, scaling={**yarn, "factor": 1.0}).attention_factor == 1.0
    ratio = {**LONGROPE, "factor": None, "max_position_embeddings": 64}
    assert RotaryEmbedding(8, scaling=ratio).attention_factor == pytest.approx(2**0.5)
    assert RotaryEmbedding(8, scaling={**LONGROPE, "factor": 1.0}).attention_factor == 1.0
    assert RotaryEmbedding(8, scaling={**LONGROPE, "attention_factor": 1.25}).attention_factor == 1.25


@pytest.mark.parametrize("length", [1, 700])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_the_attention_factor_multiplies_what_turns(length, dtype):
    scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "partial_rotary_factor": 0.5}
    rotary, x = RotaryEmbedding(16, scaling=scaling), torch.randn(1, 2, length, 16).to(dtype)
    made = rotary(x, x)
    rotary.attention_factor = 1.0
    plain = rotary(x, x)

    assert torch.equal(made[0], made[1])
    assert torch.equal(made[0][..., 8:], x[..., 8:])
    assert (made[0][..., :8].double() - 1.138629436111989 * plain[0][..., :8].double()).abs().max() <= 16 * torch.finfo(
        dtype
    ).eps
    assert torch.equal(plain[0], rotate(x, range(length), Convention(
        layout="halves", rotary_dim=8, stretch=Stretch(kind="yarn", factor=4.0, trained=64))))  # fmt: skip


# ---- frequencies that depend on the length -------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", [DYNAMIC, LONGROPE], ids=["dynamic", "longrope"])
class TestLength:
    """The length of the whole sequence is an argument: nothing is kept."""

    @pytest.mark.parametrize(("offset", "length"), [(2, 4), (4, 3), (0, 0), (0, 5)])
    def test_a_length_that_ends_before_the_tokens_is_refused(self, scaling, offset, length):
        """A stale length chose the ladder of a shorter sequence, silently."""
        rotary, x = RotaryEmbedding(8, scaling=scaling), torch.ones(1, 1, 6, 8)

        for call in (lambda: rotary(x, x, offset=offset, length=length), lambda: rotary.rotate(x, length=length)):
            with pytest.raises(InputError, match=rf"length={length} for tokens that end at"):
                call()

    def test_short_long_short(self, scaling):
        rotary = RotaryEmbedding(8, scaling=scaling)
        short, long = torch.randn(1, 2, 6, 8), torch.randn(1, 2, 40, 8)
        first = rotary(short, short)[0]
        between = rotary(long, long)[0]

        assert torch.equal(rotary(short, short)[0], first)
        assert not torch.equal(between[:, :, :6], rotary(long[:, :, :6], long[:, :, :6])[0])

    def test_steps_equal_the_whole_where_the_length_is_fixed(self, scaling):
        # B140: token by token to 64, against one call of 64.
        rotary, x = RotaryEmbedding(8, scaling=scaling), torch.randn(1, 2, 64, 8)
        whole = rotary(x, x)[1]
        tokens = [x[:, :, i : i + 1] for i in range(64)]
        fixed = torch.cat([rotary(token, token, offset=i, length=64)[1] for i, token in enumerate(tokens)], 2)

        assert torch.equal(fixed, whole)
        assert torch.equal(rotary.rotate(tokens[-1], offset=63, length=64), whole[:, :, -1:])

    def test_every_position_has_a_value(self, scaling):
        # B142: far beyond the trained length.
        rotary, x = RotaryEmbedding(8, scaling=scaling), torch.randn(1, 2, 1, 8)
        assert rotary(x, x, offset=31, length=32)[0].isfinite().all()
        assert rotary(x, x, positions=torch.tensor([10**9]), length=10**9 + 1)[0].isfinite().all()

    @pytest.mark.parametrize(
        ("options", "came"),
        [
            ({"positions": torch.arange(3)}, "positions"),
            ({"positions": torch.arange(3), "offset": 2}, "positions"),
            ({"offset": 3}, "an offset"),
            ({"offset": -1}, "an offset"),
            ({"offset": torch.tensor(0)}, "an offset"),
            ({"offset": torch.tensor([0])}, "an offset"),
        ],
        ids=str,
    )
    def test_a_part_of_a_sequence_is_refused_without_its_length(self, scaling, options, came):
        rotary, x = RotaryEmbedding(8, scaling=scaling), torch.randn(1, 2, 3, 8)
        text = f"got {scaling['rope_type']} scaling with {came} and no length, but wanted .*; pass length="
        for call in (lambda **more: rotary(x, x, **more)[1], lambda **more: rotary.rotate(x, **more)):
            with pytest.raises(InputError, match=text):
                call(**options)
            assert torch.equal(call(**options, length=6), call(**options, length=7))  # both within the trained length

    def test_a_call_of_its_own_is_the_whole_sequence(self, scaling):
        rotary, x = RotaryEmbedding(8, scaling=scaling), torch.randn(1, 2, 40, 8)
        for length in (3, 8, 9, 40):
            part = x[:, :, :length]
            assert torch.equal(rotary(part, part, offset=0)[0], rotary(part, part, length=length)[0])
            assert torch.equal(rotary.rotate(part), rotary(part, part)[1])

    def test_the_rule_may_stand_in_the_convention(self, scaling):
        rule = read_scaling(scaling, 8).stretch
        other = RotaryEmbedding(8, Convention(layout="halves", stretch=rule))
        x, rotary = torch.randn(1, 2, 40, 8), RotaryEmbedding(8, scaling=scaling)
        rotary.attention_factor = 1.0

        assert torch.equal(other(x, x)[0], rotary(x, x)[0])
        with pytest.raises(ConventionError, match="depend on the length"):
            rotate(x, range(40), Convention(layout="halves", stretch=rule))


def test_dynamic_grows_the_base_as_it_says():
    rotary, x = RotaryEmbedding(8, scaling=DYNAMIC), torch.randn(2, 32, 8, dtype=torch.float64)
    base = 10000 * (4 * 32 / 8 - 3) ** (8 / 6)

    assert (rotary(x, x)[0] - by_hand(x, torch.arange(32), base=base)).abs().max() < 1e-13


def test_other_rules_know_no_length():
    rotary, x = RotaryEmbedding(8, scaling={"type": "linear", "factor": 2}), torch.randn(1, 2, 3, 8)

    assert torch.equal(rotary(x, x, length=1000)[0], rotary(x, x)[0])


@pytest.mark.parametrize(
    ("said", "kept"),
    # The ramp over pairs 0 to 7, the last column; and over pairs 0 to 2, since pair 1.008 turns once in 64 positions.
    [({"beta_slow": 5e-324}, [1, 6 / 7, 5 / 7, 4 / 7]), ({"beta_fast": 8e307}, [1, 1 / 2, 0, 0])],
    ids=["slower than any pair", "faster than any pair"],
)
def test_ends_of_yarn_that_float64_hardly_holds(said, kept):
    kept = torch.tensor(kept, dtype=torch.float64)
    plain = 10000 ** -(torch.arange(4, dtype=torch.float64) / 4)
    made = frequencies(RotaryEmbedding(8, scaling={**YARN, **said}))

    assert (made / (plain * (kept + (1 - kept) / 4)) - 1).abs().max() < 1e-15
