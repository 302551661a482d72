"""What the page says in words is true: its laws and its faults, measured again in torch on tables of posenc."""

import math
import re

import pytest
import torch
from tests.browser.controls import until

import posenc
from posenc import Convention
from posenc.explorer.state import CHOICES
from posenc.explorer.words import vector

DIM, ROWS = 64, 512
ROUNDING = 1e-12
POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def numbers(text):
    """The numbers in a text of the page, which sets them with true minus signs, thin spaces and powers of ten."""
    plain = text.replace("\u2212", "-").replace("\u202f", "").replace("\u00a0", " ")
    plain = re.sub(r" × 10([⁻⁰-⁹¹²³]+)", lambda power: "e" + power[1].translate(POWERS), plain)
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", plain)]


def test_numbers_are_read():
    assert numbers("512 rows, \u22120.841 at 47\u202f117, 2.2\u00a0×\u00a010⁻¹⁶.") == [512, -0.841, 47117, 2.2e-16]


# Laws


@pytest.mark.parametrize("convention", CHOICES["convention"])
def test_shift_matrices_and_similarities_are_those_of_torch(core, convention):
    offsets = [0, 1, -3, 7, 256, 5000]
    matrices, products = core.evaluate(
        """([convention, offsets, dim]) => {
            const plan = window.posenc.plan(dim, { convention })
            return [offsets.map(k => Array.from(window.posenc.shiftMatrix(k, plan))),
                offsets.map(k => window.posenc.similarity(k, plan))]
        }""",
        [convention, offsets, DIM],
    )

    for offset, matrix, product in zip(offsets, matrices, products, strict=True):
        found = torch.tensor(matrix, dtype=torch.float64).view(DIM, DIM)
        assert (found - posenc.shift_matrix(offset, DIM, convention)).abs().max() < ROUNDING
        assert abs(product - posenc.similarity(offset, DIM, convention).item()) < DIM * ROUNDING


# From a published table of first rises: where K(k + 1) > K(k) first, here the k before the rise.
@pytest.mark.parametrize(("dim", "rise"), [(8, 3), (16, 3), (32, 4), (64, 5), (128, 11), (256, 24), (512, 43)])
def test_the_first_rise_of_the_similarity_is_where_it_is_known_to_be(opened, dim, rise):
    said = told(opened(state={"dim": dim, "length": 64}), "similarity-status")
    top, at, where, after, then, *_ = numbers(said)

    assert "rises" in said
    assert (top, where, then) == (dim / 2, rise, rise + 1)
    for distance, value in ((rise, at), (rise + 1, after)):
        assert value == pytest.approx(posenc.similarity(distance, dim).item(), abs=0.5e-3)


def test_the_turn_of_a_pair_is_its_frequency_times_the_offset(opened):
    said = told(opened(state={"dimension": 11, "position": 20, "offset": 7}), "turn-pair")

    # Pair 5 of 32 turns by 7 * 10000^(-10/64) radians.
    assert numbers(said)[:5] == [5, 10, 11, 20, 27]
    assert numbers(said)[5] == pytest.approx(math.degrees(7 * 10000 ** (-10 / 64)), abs=0.5e-2)


# Faults


def exact(positions, dim=DIM, **options):
    return posenc.encode(positions, dim, Convention(**options), dtype=torch.float64)


def without_cosines(rows):
    rows = rows.clone()
    rows[:, 1::2] = 0
    return rows


COUNTED = torch.arange(ROWS)
LATER = torch.arange(1792, 1792 + ROWS)
BROKEN = {
    "none": lambda: exact(COUNTED),
    "no-cosines": lambda: without_cosines(exact(COUNTED)),
    "swapped-axes": lambda: exact(torch.tensor(3)).expand(ROWS, DIM),
    "base-1": lambda: exact(COUNTED, base=1),
    "base-10": lambda: exact(COUNTED, base=10),
    "odd-width": lambda: exact(COUNTED, DIM - 1),
    "bfloat16-positions": lambda: exact(COUNTED.bfloat16().long()),
    "float16-positions": lambda: exact(LATER.half().long()),
    "bfloat16-values": lambda: posenc.encode(COUNTED, DIM, dtype=torch.bfloat16).double(),
    "halves": lambda: exact(COUNTED, layout="halves"),
    "max-len": lambda: exact(COUNTED.clamp(max=255)),
}
BASES = {"base-1": 1, "base-10": 10}


def measured(rows, base):
    """Different rows, the smallest distance of two, how far M_1 misses, how far products of one distance spread."""
    dim = rows.shape[1]
    apart = torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist")
    apart.fill_diagonal_(math.inf)
    wide = torch.nn.functional.pad(rows, (0, dim % 2))
    step = torch.tensor([float(base) ** (-2 * i / dim) for i in range((dim + 1) // 2)], dtype=torch.float64)
    sine, cosine = wide[:-1, 0::2], wide[:-1, 1::2]
    ahead = torch.stack([sine * step.cos() + cosine * step.sin(), cosine * step.cos() - sine * step.sin()], dim=-1)
    missed = (ahead.flatten(1)[:, :dim] - rows[1:]).abs().max().item()
    products = rows @ rows.T
    spread = max((d := products.diagonal(k)).max().item() - d.min().item() for k in range(ROWS // 2 + 1))
    return len(rows.unique(dim=0)), apart.min().item(), missed, spread


@pytest.mark.parametrize("fault", CHOICES["break"])
def test_what_a_fault_breaks_is_what_torch_measures(opened, fault):
    page = opened(state={"break": fault, "dim": DIM})
    until(page, "document.querySelectorAll('#break-measured tr').length === 3")
    unique, turn, alike = (row.inner_text() for row in page.locator("#break-measured tr").all())
    kinds, apart, missed, spread = measured(BROKEN[fault](), BASES.get(fault, 10000))

    assert numbers(unique)[:2] == [kinds, ROWS]
    assert ("equal" in unique) == (apart == 0)
    if apart:
        assert numbers(unique)[-1] == pytest.approx(apart, rel=told_to(apart))
    for text, value, whole in ((turn, missed, 1), (alike, spread, DIM / 2)):
        said = numbers(text)[-1]
        if value < 1e-9:
            assert "holds, to rounding" in text
            assert said < 1e-9
        else:
            assert said == pytest.approx(value, rel=told_to(value))
            assert ("holds only roughly" in text) == (value <= whole / 100)
            assert ("falls" in text) == (value > whole / 100)
    assert ("falls" in unique) == (kinds < ROWS)


def told_to(value):
    """Half of the last digit that is told of a number: the third, or the second of a power of ten."""
    return 0.5e-2 if value >= 1e-3 else 0.5e-1


def told(page, name):
    """The text of a part of the page, drawn once it is in sight."""
    page.locator(f"#{name}").scroll_into_view_if_needed()
    until(page, f"document.getElementById('{name}').textContent !== ''")
    return page.locator(f"#{name}").inner_text()


# Published numbers, as their papers have them.
PRESS_TABLE_2 = {512: 20.05, 532: 19.91, 612: 20.59, 712: 24.86, 1012: 43.54, 1512: 76.23, 15512: 406.01}


def test_published_numbers_stand_as_published(opened):
    page = opened()
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    text = page.locator("#beyond-table").inner_text()
    said = numbers(text)

    for length, perplexity in PRESS_TABLE_2.items():
        assert {length, perplexity} <= set(said)
    # Vaswani et al. 2017, table 3: sinusoids (base) and learned (E), perplexity and BLEU.
    assert {4.92, 25.8, 25.7} <= set(numbers(page.locator("#why").inner_text()))


def test_the_quiz_says_what_the_encoding_holds(opened):
    page = opened()
    wanted = posenc.encode(20, 512, dtype=torch.float64)
    for index, wave in ((99, "cosine"), (100, "sine")):
        page.locator(f"fieldset:has(legend:has-text('index {index}')) label", has_text=re.compile(f"^{wave}$")).click()
        reply = page.locator(f"fieldset:has(legend:has-text('index {index}')) .reply").inner_text()

        assert reply.startswith("Right.")
        assert f"{wanted[index].item():.6f}" in reply.replace("\u2212", "-")


# Settings


@pytest.mark.parametrize("convention", CHOICES["convention"])
def test_why_10000_and_rotary_follow_the_convention(opened, convention):
    page = opened(state={"convention": convention, "dim": DIM, "position": 6, "offset": 3})
    told(page, "bases-caption")
    likeness = [numbers(line.inner_text())[-4:] for line in page.locator("#bases tbody tr").all()]
    wanted = [posenc.similarity(k, DIM, convention).item() / (DIM / 2) for k in (1, 10, 100, 1000)]
    told(page, "rotary-status")
    added = numbers(page.locator("#rotary-table tbody tr").first.inner_text())[-1]
    man, bites = (torch.tensor(vector(word, DIM), dtype=torch.float64) for word in ("man", "bites"))
    rows = posenc.encode(torch.tensor([6, 9]), DIM, convention, dtype=torch.float64)

    assert any(line == pytest.approx(wanted, abs=0.5e-3) for line in likeness)
    assert added == pytest.approx(((man + rows[0]) @ (bites + rows[1])).item(), abs=0.5e-9)
    for name in ("bases-caption", "rotary-caption"):
        assert convention in page.locator(f"#{name}").inner_text()
    assert "whatever the settings say" in page.locator("#order").inner_text()
    assert "your convention" in page.locator("#break").inner_text().lower()


@pytest.mark.parametrize("dim", [2, 64, 512])
def test_angles_of_words_and_positions_are_told_from_both_sides(opened, dim):
    page = opened(state={"dim": dim})
    text = told(page, "adding")
    rows = posenc.encode(torch.arange(3), dim, dtype=torch.float64)
    words = torch.tensor([vector(word, dim) for word in ("man", "bites", "dog")], dtype=torch.float64)
    cosines = torch.nn.functional.cosine_similarity(rows, words)
    low, high = sorted(math.degrees(math.acos(each)) for each in (cosines.min().item(), cosines.max().item()))

    assert f"are {low:.0f} to {high:.0f} degrees apart" in text
    assert f"is {cosines.abs().max().item():.3f}." in text


def test_an_odd_width_is_said_to_be_a_ladder_of_its_own(opened):
    page = opened(state={"break": "odd-width"})

    assert "2i / (d \u2212 1)" in told(page, "break-does")
    assert "development set, newstest2013" in page.locator("#why").inner_text()
