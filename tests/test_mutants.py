"""Every law fails where the core is broken: a law that nothing can break says nothing."""

import dataclasses
import importlib

import pytest
import torch
from tests.caches import forget
from tests.test_laws import LAWS
from tests.test_order import any_order

from posenc import phase
from posenc.encoding import algebra
from posenc.frequency import Ladder, ladder
from posenc.layout import Columns
from posenc.trig import blocks, certify, quarter, render, rounding, rows, tabulate

# The public function has the name of its module.
locate = importlib.import_module("posenc.encoding.location")
HELD = {name: law for name, law in LAWS.items() if name.startswith("law")} | {"any_order": any_order}


@pytest.fixture(autouse=True)
def one_thread():
    # The tensors are small; how many threads share the work is asked elsewhere.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def nothing_is_kept():
    forget()
    yield
    forget()


def never(values, bound, dtype):
    """Ziv's test, asleep."""
    return torch.zeros(values.shape, dtype=torch.bool)


def plain_cast(values, dtype):
    """torch's own conversion, which rounds twice."""
    return values.to(dtype)


def no_repair_in_tables(patch):
    patch.setattr(certify, "doubtful", never)


def no_repair_in_rows(patch):
    patch.setattr(render, "put", lambda *_: None)


def repairs_one_row_late(patch):
    put = tabulate.put

    def late(out, where, values, columns):
        put(out, where._replace(rows=(where.rows + 1) % len(out)), values, columns)

    patch.setattr(tabulate, "put", late)


def blocks_lose_their_sign(patch):
    patch.setattr(blocks, "signs_of", {}.get)
    patch.setattr(blocks, "FEW_BLOCKS", 0)


def coarse_rows_are_off(patch):
    limbs = rows.limbs
    patch.setattr(rows, "limbs", lambda values: limbs([value + 2**104 for value in values]))


def the_cache_forgets_the_ladder(patch):
    get = rows.ROWS.get
    patch.setattr(rows.ROWS, "get", lambda key, make, size: get(key[1:], make, size))


def halves_are_rounded_twice(patch):
    patch.setattr(rounding, "round_once", plain_cast)
    patch.setattr(render, "round_once", plain_cast)


def no_last_word(patch):
    patch.setattr(render, "FEW_DECIDED", 0)
    patch.setattr(render, "doubtful", never)


def steps_through_float64(patch):
    exact = Ladder.steps.func
    patch.setattr(Ladder, "steps", property(lambda self: tuple(int(float(step)) for step in exact(self))))


def half_the_exponent(patch):
    exact = Ladder.steps.func
    slow = property(lambda self: exact(Ladder(self.pairs, self.base, 2 * self.span, self.first, self.scale)))
    patch.setattr(Ladder, "steps", slow)


def a_short_pi(patch):
    pi = ladder.pi_scaled
    patch.setattr(ladder, "pi_scaled", lambda bits: pi(bits) >> (bits - 60) << (bits - 60))


def the_offset_is_forgotten(patch):
    patch.setattr(Ladder, "starts", property(lambda self: (0,) * self.pairs))


def every_turn(change):
    """A mutant that changes cosine and sine wherever they are taken."""

    def mutant(patch):
        exact = quarter.cos_sin
        for module in (render, rows, algebra):
            patch.setattr(module, "cos_sin", lambda phases: change(*exact(phases)))

    return mutant


sine_and_cosine_change_places = every_turn(lambda cosine, sine: (sine, cosine))
everything_turns_backwards = every_turn(lambda cosine, sine: (cosine, -sine))
everything_is_a_little_long = every_turn(lambda cosine, sine: (cosine * (1 + 1e-13), sine * (1 + 1e-13)))


def a_short_series(patch):
    patch.setattr(quarter, "_SINE", quarter._SINE[:-2])


def carries_are_lost(patch):
    exact = phase._carry
    patch.setattr(phase, "_carry", lambda high, middle, low: exact(high, middle & phase._LOW_MASK, low))


def the_sign_of_a_position_is_lost(patch):
    exact = phase._whole_digits
    patch.setattr(phase, "_whole_digits", lambda positions: [digit & 0xFFFF for digit in exact(positions)])


def the_turn_is_cut_short(patch):
    patch.setattr(phase, "_HIGH_MASK", phase._HIGH_MASK >> 1)


def shifts_turn_backwards(patch):
    exact = algebra.turn

    def mutant(*arguments):
        cosine, sine = exact(*arguments)
        return cosine, -sine

    patch.setattr(algebra, "turn", mutant)


def shifts_count_the_offset(patch):
    def mutant(offset, plan, block, steps):
        return quarter.cos_sin(phase.phase_of(offset.unsqueeze(-1), *steps))

    patch.setattr(algebra, "turn", mutant)


def similarity_by_sines(patch):
    exact = algebra.turn
    patch.setattr(algebra, "turn", lambda *arguments: exact(*arguments)[::-1])


def read_back_with_pairs_swapped(patch):
    exact = locate.members
    patch.setattr(locate, "members", lambda *arguments: exact(*arguments)[::-1])


def the_last_position_is_out_of_reach(patch):
    exact = locate._limit
    patch.setattr(locate, "_limit", lambda *arguments: exact(*arguments) - 1)


def the_offset_is_not_taken_back(patch):
    distance = locate._distance
    patch.setattr(locate, "_distance", lambda rows, found, *rest: distance(rows, found + 1, *rest))


def the_order_is_ignored(patch):
    for member in ("sines", "cosines"):
        exact = getattr(Columns, member).func
        ordered = property(lambda self, exact=exact: exact(dataclasses.replace(self, order="sine-first")))
        patch.setattr(Columns, member, ordered)


def halves_are_interleaved(patch):
    first = property(lambda self: slice(0, self._filled, 2))
    second = property(lambda self: slice(1, self._filled, 2))
    patch.setattr(Columns, "sines", first)
    patch.setattr(Columns, "cosines", second)


MUTANTS = [
    ("law_1", no_repair_in_tables),
    ("law_1", no_repair_in_rows),
    ("law_1", repairs_one_row_late),
    ("law_1", blocks_lose_their_sign),
    ("law_1", coarse_rows_are_off),
    ("any_order", the_cache_forgets_the_ladder),
    ("law_2", halves_are_rounded_twice),
    ("law_2", no_last_word),
    ("law_2", no_repair_in_rows),
    ("law_2", steps_through_float64),
    ("law_2", half_the_exponent),
    ("law_2", a_short_pi),
    ("law_2", a_short_series),
    ("law_2", the_offset_is_forgotten),
    ("law_2", sine_and_cosine_change_places),
    ("law_2", the_turn_is_cut_short),
    ("law_2", everything_turns_backwards),
    ("law_3", carries_are_lost),
    ("law_3", the_sign_of_a_position_is_lost),
    ("law_4", shifts_turn_backwards),
    ("law_4", shifts_count_the_offset),
    ("law_4", everything_is_a_little_long),
    ("law_5", similarity_by_sines),
    ("law_5", everything_is_a_little_long),
    ("law_6", read_back_with_pairs_swapped),
    ("law_6", the_last_position_is_out_of_reach),
    ("law_6", the_offset_is_not_taken_back),
    ("law_7", the_order_is_ignored),
    ("law_7", halves_are_interleaved),
]


@pytest.mark.parametrize(("law", "mutant"), MUTANTS, ids=lambda it: getattr(it, "__name__", it))
def test_a_mutant_breaks_its_law(law, mutant, monkeypatch):
    mutant(monkeypatch)
    broken = False
    try:
        HELD[law]()
    except (AssertionError, ValueError):
        broken = True

    assert broken


def test_every_law_has_a_mutant():
    assert {law for law, _ in MUTANTS} == set(HELD)
