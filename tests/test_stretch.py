"""The rules that stretch a ladder: by hand, at their edges, and what makes none."""

import re
from fractions import Fraction

import mpmath
import pytest
import torch

from posenc import Convention, conventions, rotate
from posenc.errors import ConventionError
from posenc.frequency import TURN, Ladder, Stretch, stretched

MP = mpmath.mp.clone()
MP.prec = 300
# A step is an integer, half a unit away at most, and 2^128 to the turn.
STEP = MP.mpf(2) ** -127


def ladder(pairs=8, base=10000):
    return Ladder(pairs=pairs, base=Fraction(base), span=Fraction(pairs))


def waves(made: Ladder) -> list:
    """Radians per position."""
    return [MP.mpf(step) * 2 * MP.pi / TURN for step in made.steps]


def plain(pairs=8, base=10000) -> list:
    return [MP.mpf(base) ** (-MP.mpf(k) / pairs) for k in range(pairs)]


def check(made: Ladder, expected: list) -> None:
    assert len(made.steps) == len(expected)
    for got, true in zip(waves(made), expected, strict=True):
        # What a float64 parameter stands for is exact.
        assert abs(got - true) <= 2 * MP.pi * STEP + abs(true) * MP.mpf(2) ** -200


# ---- each rule by its formula, in arbitrary precision --------------------------------------------------------------


def test_linear():
    check(stretched(ladder(), Stretch(kind="linear", factor=4)), [w / 4 for w in plain()])
    check(stretched(ladder(), Stretch(kind="linear", factor=1.1)), [w / MP.mpf(1.1) for w in plain()])


def test_ntk():
    base = 10000 * MP.mpf(4) ** (MP.mpf(8) / 7)
    check(stretched(ladder(), Stretch(kind="ntk", factor=4)), plain(base=base))
    # The slowest pair is slowed by the factor, the fastest one not at all.
    made = waves(stretched(ladder(), Stretch(kind="ntk", factor=4)))
    assert abs(made[7] - plain()[7] / 4) < 1e-30
    assert abs(made[0] - 1) < 1e-30


@pytest.mark.parametrize(("length", "growth"), [(None, 1), (0, 1), (64, 1), (65, None), (640, 37), (2**40, None)])
def test_dynamic(length, growth):
    growth = MP.mpf(4) * length / 64 - 3 if growth is None else MP.mpf(growth)
    base = 10000 * growth ** (MP.mpf(8) / 7)
    check(stretched(ladder(), Stretch(kind="dynamic", factor=4, trained=64), length), plain(base=base))


def test_longrope():
    short, long = (1.0, 1.1, 1.5, 2.0), (2.0, 3.0, 4.5, 8.0)
    rule = Stretch(kind="longrope", trained=64, short=short, long=long)
    for length, factors in ((None, short), (64, short), (65, long)):
        expected = [w / MP.mpf(f) for w, f in zip(plain(4), factors, strict=True)]
        check(stretched(ladder(4), rule, length), expected)


def test_llama3():
    rule = Stretch(kind="llama3", factor=8, trained=8192, low=1, high=4)
    expected = []
    for w in plain(64, 500000):
        length = 2 * MP.pi / w
        smooth = (8192 / length - 1) / 3
        expected.append(w if length < 2048 else w / 8 if length > 8192 else (1 - smooth) * w / 8 + smooth * w)
    check(stretched(ladder(64, 500000), rule), expected)
    kept = [float(made / w) for made, w in zip(expected, plain(64, 500000), strict=True)]
    assert (kept[0], kept[-1]) == (1, 0.125)
    assert sum(0.125 < share < 1 for share in kept) >= 3


def yarn(pairs, base, factor, trained, fast, slow, *, whole=True):
    """The ramp of the paper, its ends as every system takes them."""
    ends = [2 * pairs * MP.log(trained / (turns * 2 * MP.pi)) / (2 * MP.log(base)) for turns in (fast, slow)]
    begin, end = (MP.floor(ends[0]), MP.ceil(ends[1])) if whole else ends
    begin, end = max(begin, 0), min(end, 2 * pairs - 1)
    end = end + MP.mpf(1) / 1000 if begin == end else end
    ramp = [min(max((k - begin) / (end - begin), 0), 1) for k in range(pairs)]
    return [w / factor * r + w * (1 - r) for w, r in zip(plain(pairs, base), ramp, strict=True)]


@pytest.mark.parametrize(
    ("pairs", "options"),
    [
        (64, {"factor": 16, "trained": 4096}),
        (64, {"factor": 40, "trained": 4096, "fast": 64, "slow": 2}),
        # Ends that meet: both below the first pair.
        (8, {"factor": 4, "trained": 6, "fast": 32, "slow": 1}),
        (4, {"factor": 4, "trained": 2048}),
        (1, {"factor": 2, "trained": 100}),
    ],
)
def test_yarn(pairs, options):
    options = {"fast": 32, "slow": 1, **options}

    check(stretched(ladder(pairs), Stretch(kind="yarn", **options)), yarn(pairs, 10000, **options))


def test_yarn_with_real_ends():
    options = {"factor": 16, "trained": 4096, "fast": 32, "slow": 1}
    made = stretched(ladder(64), Stretch(kind="yarn", ramp="real", **options))
    # The ends are numbers of float64.
    for got, true in zip(waves(made), yarn(64, 10000, **options, whole=False), strict=True):
        assert abs(got / true - 1) < 1e-13


def test_bounds_in_the_right_order_keep_the_fast_and_slow_the_slow():
    # B146: the highest frequency is as it was, the lowest is divided by the factor.
    made, before = waves(stretched(ladder(64), Stretch(kind="yarn", factor=4, trained=4096))), plain(64)

    assert abs(made[0] / before[0] - 1) < 1e-30
    assert abs(made[-1] / before[-1] - MP.mpf(1) / 4) < 1e-30


def test_proportional():
    rule = Stretch(kind="proportional", factor=2, turning=3)
    check(stretched(ladder(), rule), [w / 2 for w in plain()[:3]] + [MP.mpf(0)] * 5)
    assert stretched(ladder(), rule).steps[3:] == (0,) * 5


def test_a_ladder_keeps_what_the_rule_does_not_change():
    given = Ladder(pairs=2, base=Fraction(9), span=Fraction(2), scale=Fraction(1, 2), offset=Fraction(3))
    made = stretched(given, Stretch(kind="linear", factor=2))

    assert (made.scale, made.offset, made.base) == (given.scale, given.offset, given.base)
    assert stretched(Ladder(2, Fraction(9), Fraction(2), given=(Fraction(3), Fraction(1))),
                     Stretch(kind="linear", factor=2)).given == (3, 1)  # fmt: skip


def test_the_precise_step_is_the_step():
    for rule in (
        Stretch(kind="linear", factor=1.1),
        Stretch(kind="dynamic", factor=4, trained=64),
        Stretch(kind="yarn", factor=4, trained=4096),
        Stretch(kind="proportional", turning=3),
    ):
        made = stretched(ladder(), rule, 1000)
        assert [made.precise_step(k, 128) for k in range(8)] == [*made.steps]


# ---- the record ----------------------------------------------------------------------------------------------------


def test_equal_rules_are_equal_and_short_to_write():
    rule = Stretch(kind="yarn", factor=4, trained=64, slow=2)

    assert repr(rule) == "Stretch(kind='yarn', factor=4, trained=64, slow=2)"
    assert eval(repr(rule)) == rule
    assert len({rule, Stretch(kind="yarn", factor=4.0, trained=64, slow=2.0)}) == 1
    assert Stretch.from_dict({"kind": "linear", "factor": 4}) == Stretch(kind="linear", factor=4)


def test_a_convention_holds_a_rule():
    rule = Stretch(kind="llama3", factor=8, trained=8192)
    convention = Convention(base=500000, stretch=rule)

    assert Convention.from_dict(convention.to_dict()) == convention
    assert convention.ladder(16) == stretched(Ladder(8, Fraction(500000), Fraction(8)), rule)
    assert conventions["torchtune-llama3"].stretch == rule


def test_rules_that_need_the_length_say_so():
    assert Stretch(kind="dynamic", factor=4, trained=64).needs_length
    assert Stretch(kind="longrope", trained=64, short=(1.0,), long=(2.0,)).needs_length
    assert not Stretch(kind="yarn", factor=4, trained=64).needs_length
    with pytest.raises(ConventionError, match="whose frequencies depend on the length of the sequence"):
        rotate(torch.zeros(1, 8), [0],
               Convention(stretch=Stretch(kind="dynamic", factor=4, trained=64)))  # fmt: skip


# ---- what makes no rule --------------------------------------------------------------------------------------------

NAN = float("nan")
WRONG = [
    ({"kind": "cubic"}, "stretch of kind 'cubic', but wanted 'linear' or 'ntk' or"),
    ({"kind": ["linear"]}, "stretch of kind ['linear']"),
    ({"kind": "linear", "factor": 0}, "factor=0, but wanted a number above zero"),
    ({"kind": "linear", "factor": NAN}, "factor=nan"),
    ({"kind": "linear", "factor": True}, "factor=True"),
    ({"kind": "linear", "factor": "4"}, "factor='4'"),
    ({"kind": "linear", "factor": 2, "trained": 64}, "trained=64 for 'linear', but wanted only factor"),
    ({"kind": "ntk", "factor": 2, "low": 2}, "low=2 for 'ntk'"),
    ({"kind": "dynamic", "factor": 0.5, "trained": 64}, "factor=0.5, but wanted a factor of at least 1"),
    ({"kind": "dynamic", "factor": 2}, "trained=0, but wanted the length of training"),
    ({"kind": "yarn", "factor": 2, "trained": 64.0}, "trained=64.0"),
    ({"kind": "yarn", "factor": 2, "trained": 64, "fast": 1, "slow": 32}, "fast=1 and slow=32, but wanted fast above"),
    ({"kind": "yarn", "factor": 2, "trained": 64, "slow": 0}, "slow=0"),
    ({"kind": "yarn", "factor": 2, "trained": 64, "ramp": "none"}, "ramp='none'"),
    ({"kind": "llama3", "factor": 2, "trained": 64, "low": 4, "high": 1}, "high=1 and low=4, but wanted high above"),
    ({"kind": "proportional", "turning": -1}, "turning=-1"),
    ({"kind": "longrope", "trained": 64, "short": (1.0, -1.0), "long": (1.0, 1.0)}, "short=(1.0, -1.0)"),
    ({"kind": "longrope", "trained": 64, "short": [1.0], "long": (1.0,)}, "short=[1.0], but wanted a tuple"),
]


@pytest.mark.parametrize(("options", "text"), WRONG)
def test_wrong_numbers(options, text):
    with pytest.raises(ConventionError, match=re.escape(text)):
        Stretch(**options)


@pytest.mark.parametrize("options", [{}, {"factor": 4}, {"kind": "linear", "speed": 4}])
def test_a_dictionary_that_is_none(options):
    with pytest.raises(ConventionError, match="stretch with"):
        Stretch.from_dict(options)


DYNAMIC = Stretch(kind="dynamic", factor=2, trained=64)
YARN = Stretch(kind="yarn", factor=2, trained=64)
UNFIT = [
    (ladder(1), DYNAMIC, "dynamic scaling of one pair"),
    (ladder(2), Stretch(kind="proportional", turning=3), "turning=3, but wanted at most 2 pairs"),
    (ladder(2), Stretch(kind="longrope", trained=8, short=(1.0,), long=(1.0, 1.0)), "short factors for 1 pairs"),
    (ladder(2), Stretch(kind="longrope", trained=8, short=(1.0, 1.0), long=(1.0,)), "long factors for 1 pairs"),
    (Ladder(2, Fraction(9), Fraction(1)), DYNAMIC, "dynamic scaling of another ladder"),
    (Ladder(2, Fraction(9), Fraction(2), given=(Fraction(1),) * 2), YARN, "yarn scaling of another ladder"),
    (Ladder(2, Fraction(1), Fraction(2)), YARN, "yarn scaling of another ladder"),
    (Ladder(2, Fraction(9), Fraction(2), first=Fraction(2)), YARN, "from 1 down"),
    (Ladder(2, Fraction(9), Fraction(2), scale=Fraction(2)), YARN, "of positions as they are"),
]


@pytest.mark.parametrize(("given", "rule", "text"), UNFIT)
def test_ladders_that_a_rule_does_not_know(given, rule, text):
    with pytest.raises(ConventionError, match=re.escape(text)):
        stretched(given, rule)
