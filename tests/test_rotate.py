"""Queries and keys turned as real systems turn them, by their names, and the few that are laid out otherwise."""

from dataclasses import replace
from math import cos, sin

import pytest
import torch
from tests import golden
from tests.rotations import by_hand

from posenc import Convention, RotaryEmbedding, conventions, rotate
from posenc.errors import ConventionError

STEMS = sorted(path.stem for path in golden.FOLDER.glob("rope_*.json") if "scaling" not in path.stem)
XPOS, ANGLES = "rope_rotary_embedding_torch_xpos", "rope_rotary_embedding_torch_pixel_angles"
RECORDS = [(stem, said) for stem in STEMS if stem not in (XPOS, ANGLES) for said in golden.read(stem)]
IDS = [f"{stem}-{said['dim']}" for stem, said in RECORDS]
# Ours: four roundings of numbers up to 1, and those of cosine and sine.
OURS = 5 * 2.0**-24
# simplepe multiplies complex numbers, whose products torch forms in another order.
COMPLEX = "rope_simplepe"
RAMP = "rope_torchtune_llama3_scaled"


def fed(stem, said):
    """What a system was given and what it put out: x (n, dim), positions (n,) or (n, axes), values (n, dim)."""
    x = torch.tensor(said["input"]).expand(len(said["positions"]), -1).contiguous()
    return x, torch.tensor(said["positions"]), torch.tensor(said["values"])


def same_kernels():
    """Whether this machine's powers, sines and cosines are those of the machine that made the records."""
    record = next(iter(golden.records("hf_ctrl")))
    return golden.how(record) == "bit for bit"


# ---- by hand -------------------------------------------------------------------------------------------------------

X = [1.0, 2.0, 3.0, 4.0]
TURNED = {
    "interleaved": [-1.142640, 1.922076, 2.959851, 4.029799],
    "halves": [-1.984111, 1.959901, 2.462378, 4.019800],
}


@pytest.mark.parametrize("layout", TURNED)
def test_one_position_by_hand(layout):
    x = torch.tensor([X])
    expected = torch.tensor([TURNED[layout]])

    assert (rotate(x, [1], Convention(layout=layout)) - expected).abs().max() < 1e-6
    q, k = RotaryEmbedding(4, layout=layout)(x, x, offset=1)
    assert (q - expected).abs().max() < 1e-6
    assert torch.equal(k, q)


def test_the_sign_is_that_of_a_turn_from_the_first_member_to_the_second():
    assert torch.equal(rotate(torch.tensor([[1.0, 0.0]]), [1]), torch.tensor([[0.540302277, 0.841470957]]))


@pytest.mark.parametrize("layout", TURNED)
def test_the_matrices_that_are_written_beside_the_function(layout):
    # The phases at position 3 are 3 and 0.03.
    (s, t), zero = (3.0, 0.03), 0.0
    written = {
        "halves": [
            [cos(s), zero, -sin(s), zero],
            [zero, cos(t), zero, -sin(t)],
            [sin(s), zero, cos(s), zero],
            [zero, sin(t), zero, cos(t)],
        ],
        "interleaved": [
            [cos(s), -sin(s), zero, zero],
            [sin(s), cos(s), zero, zero],
            [zero, zero, cos(t), -sin(t)],
            [zero, zero, sin(t), cos(t)],
        ],
    }
    made = rotate(torch.eye(4, dtype=torch.float64), [3] * 4, Convention(layout=layout)).mT

    assert (made - torch.tensor(written[layout], dtype=torch.float64)).abs().max() <= 2.0**-52


def test_the_default_is_llama():
    x = torch.randn(5, 8)

    assert torch.equal(rotate(x, range(5)), rotate(x, range(5), "llama"))
    assert (rotate(x, range(5)).double() - by_hand(x, torch.arange(5))).abs().max() < 1e-6


# ---- real systems --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stem", "said"), RECORDS, ids=IDS)
def test_by_mathematics(stem, said):
    x, positions, values = fed(stem, said)
    error = said["unified_float64_max_abs_error"] + OURS
    if stem == RAMP:
        # Its float32 ramp takes the difference of numbers up to 4, divided by 3, of a frequency that shrinks 8 times:
        # up to 7 * 4 / 3 + 1 units of the frequency. The record says what frequencies came out.
        exact = torch.tensor(conventions[stem].ladder(said["dim"]).steps, dtype=torch.float64) * (torch.pi / 2.0**127)
        assert ((torch.tensor(said["inv_freq"]) / exact - 1).abs() <= 11 * 2.0**-24).all()
        error = 11 * 2.0**-24 * (positions.unsqueeze(-1) * exact).max().item() + OURS

    assert (rotate(x, positions, stem) - values).abs().max() <= error


@pytest.mark.parametrize(("stem", "said"), [r for r in RECORDS if r[0] != RAMP], ids=[i for i in IDS if RAMP not in i])
def test_as_released(stem, said):
    x, positions, values = fed(stem, said)
    off = (rotate(x, positions, conventions[stem].as_released()) - values).abs()

    if same_kernels():
        assert off.max() <= (said["unified_float32_recipe_max_abs_error"] if stem == COMPLEX else 0)
    else:
        assert (off <= 2.0**-23 * (1 + positions.abs().max())).all()


def test_frequencies_that_are_scaled_one_by_one_have_no_released_order():
    ramp = replace(conventions[RAMP], arithmetic="recip-pow")

    with pytest.raises(ConventionError, match="no order of operations is recorded"):
        rotate(torch.ones(1, 8), [1], ramp)


@pytest.mark.parametrize("said", golden.read(ANGLES), ids=lambda said: said["dim"])
def test_pixel_angles(said):
    pairs = said["dim"] // 2
    unturned = torch.tensor([1.0, 0.0]).repeat(len(said["positions"]), pairs)
    angles = torch.tensor(said["values"], dtype=torch.float64)[:, ::2]
    expected = torch.stack((angles.cos(), angles.sin()), -1).flatten(1)

    # Angles up to 16 are written in float32.
    assert (rotate(unturned, said["positions"], ANGLES).double() - expected).abs().max() <= 16 * 2.0**-24 + OURS


@pytest.mark.skip(reason=f"{XPOS}: xPos multiplies by a gain that depends on the position, which no convention has")
def test_xpos():
    """Rotations that change lengths are none."""


def test_every_file_of_a_rotation_is_looked_at():
    assert len(STEMS) == 18
    assert {XPOS, ANGLES} < set(STEMS)
    assert len(RECORDS) == 31
    assert max(max(said["positions"]) for stem, said in RECORDS if not conventions[stem].axes) == 4095


def test_the_class_token_of_torchtune_is_not_turned():
    said = golden.read("rope_torchtune_vision_2d")[0]
    x, positions, _ = fed("", said)

    assert positions[-1].tolist() == [0, 0]
    assert torch.equal(rotate(x, positions, "torchtune-vision-2d")[-1], x[-1])


# ---- which columns turn --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", TURNED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("length", [3, 3000])
def test_a_part_of_a_head(layout, dtype, length):
    # The ladder is that of the columns that turn, as in GPT-NeoX.
    x = torch.randn(2, length, 32).to(dtype)
    made = rotate(x, range(length), Convention(layout=layout, rotary_dim=8))

    assert torch.equal(made[..., 8:], x[..., 8:])
    assert torch.equal(made[..., :8], rotate(x[..., :8], range(length), Convention(layout=layout)))
    assert torch.equal(made, rotate(x, range(length), Convention(layout=layout, rotary_dim=0.25)))
    assert (made.double() - by_hand(x, torch.arange(length), layout, width=8)).abs().max() < 0.05


def test_a_slice_of_heads():
    q = torch.randn(1, 4, 5, 8)
    made = torch.cat([rotate(q[:, :1], range(5)), q[:, 1:]], 1)

    assert torch.equal(made[:, :1], rotate(q, range(5))[:, :1])
    assert torch.equal(made[:, 1:], q[:, 1:])


def test_axes_of_an_image_turn_their_own_columns():
    # Tokens of one column of a map: what turns with the column turns alike.
    x = torch.ones(4, 16)
    places = [[row, 3] for row in range(4)]
    made = rotate(x, places, "timm-axial-2d")

    assert torch.equal(made[:, 8:], made[:1, 8:].expand(4, 8))
    assert torch.equal(made[:, :8], rotate(x[:, :8], range(4), Convention()))
    assert torch.equal(made[:, 8:], rotate(x[:, 8:], [3] * 4, Convention()))


def test_axes_in_halves_of_the_whole_head():
    x = torch.randn(5, 16)
    places = torch.randint(0, 100, (5, 2))
    made = rotate(x, places, "timm-axial-2d-half")
    columns = [*range(4), *range(8, 12)]

    assert torch.equal(made[:, columns], rotate(x[:, columns], places[:, 0], Convention(layout="halves")))


def test_axes_that_interleave_otherwise_are_refused():
    image = {"axes": ("row", "column")}
    for options in (
        {**image, "layout": "halves"},
        {**image, "axis_layout": "middle"},
        {**image, "axis_layout": "inner"},
        {**image, "layout": "halves", "axis_layout": "inner"},
    ):
        with pytest.raises(ConventionError, match="turn the columns of each axis by themselves"):
            rotate(torch.ones(1, 8), [[0, 1]], Convention(**options))


def test_unequal_shares_of_axes():
    x = torch.randn(6, 16)
    video = Convention(axes=("time", "row", "column"), axis_shares=(2, 3, 3))
    places = torch.arange(18).view(6, 3)
    made = rotate(x, places, video)

    for axis, (begin, end) in enumerate([(0, 4), (4, 10), (10, 16)]):
        assert torch.equal(made[:, begin:end], rotate(x[:, begin:end], places[:, axis], Convention()))
