"""What axes, gains, inputs, slips and recipes add to the laws and to the records of systems: each has its mutants."""

import dataclasses
import importlib

import pytest
import torch
from tests import golden
from tests.caches import forget
from tests.test_laws import LAWS

from posenc import recipes
from posenc.convention import plan
from posenc.encoding import algebra, general
from posenc.layout import Columns
from posenc.phase import add, negate

# The public function has the name of its module.
locate = importlib.import_module("posenc.encoding.location")
values = importlib.import_module("posenc.encoding.values")
RECORDS = [
    record
    for stem in (
        "hf_marian", "hf_xglm", "hf_ctrl", "keras_hub", "sockeye", "fairseq2_sinusoidal", "hf_timesfm_min4",
        "x_transformers_scaled_sinusoidal", "hf_patchtst_sincos", "lex_glue_hierbert", "speechbrain_relposencxl",
        "hf_pi0_timestep", "diffusers_timestep_scaled", "hf_kimi_k25_time", "timm_sincos2d_rev0_il0", "mae_2d_sincos",
        "detr_sine_2d_normalized", "diffusers_gligen_box", "hf_perceiver", "pytorch3d_harmonic", "timm_fourier_log",
        "diffusers_gaussian_fourier", "sam_position_embedding_random",
    )
    for record in golden.records(stem)
]  # fmt: skip


def as_recorded():
    """Every record is bit for bit what its name puts out as released."""
    for record in RECORDS:
        golden.check_released(
            record, golden.how(record) if golden.how(record).startswith("by phase") else "bit for bit"
        )


def by_mathematics():
    """No name is further from its system than that is from mathematics."""
    for record in RECORDS:
        ours = values.encode(record.exact, record.dim, record.convention, dtype=torch.float64)
        assert (ours - record.rows.double()).abs().max() <= record.system_error + record.unit + 1e-12, record.label


HELD = {name: law for name, law in LAWS.items() if name.startswith("every")}
HELD |= {"as_recorded": as_recorded, "by_mathematics": by_mathematics}


@pytest.fixture(autouse=True)
def nothing_is_kept():
    forget()
    yield
    forget()


# Any of these shows in values.


def axes_change_places(patch):
    exact = plan._input_order
    patch.setattr(plan, "_input_order", lambda convention: exact(convention)[::-1])


def axes_are_nested_the_other_way(patch):
    other = {"outer": "outer", "middle": "inner", "inner": "middle", "sum": "sum"}
    exact = Columns._member

    def swapped(self, first):
        return exact(dataclasses.replace(self, axis_layout=other[self.axis_layout]), first)

    patch.setattr(Columns, "_member", swapped)


def the_gain_is_lost(patch):
    exact = plan._plan
    patch.setattr(plan, "_plan", lambda *rest: dataclasses.replace(exact(*rest), gain=1.0))


def every_axis_has_the_numbers_of_the_first(patch):
    patch.setattr(plan, "_each", lambda value, axes: (value[0] if isinstance(value, tuple) else value,) * axes)


def zero_rows_are_waves(patch):
    def finished(out, positions, chosen, dtype):
        bare = dataclasses.replace(chosen, convention=dataclasses.replace(chosen.convention, zero_rows=()))
        return exact(out, positions, bare, dtype)

    exact = general.finished
    patch.setattr(general, "finished", finished)


def inputs_stand_one_column_late(patch):
    exact = plan._inputs
    patch.setattr(plan, "_inputs", lambda *rest: tuple((axis, column + 1) for axis, column in exact(*rest)))


def inputs_change_places(patch):
    exact = plan._inputs
    patch.setattr(plan, "_inputs", lambda *rest: tuple((0, column) for _, column in exact(*rest)))


def the_sign_is_kept(patch):
    patch.setattr(general, "negate", lambda phase: add(negate(negate(phase)), phase))


def the_start_is_turned_too(patch):
    exact = general._along

    def along(positions, chosen, axis, steps):
        kept = dataclasses.replace(chosen, convention=dataclasses.replace(chosen.convention, position_sign="kept"))
        phase = exact(positions, kept, axis, steps)
        if chosen.convention.position_sign == "kept":
            return phase
        below = general.coordinate(positions, chosen, axis).unsqueeze(-1) < 0
        return type(phase)(*(torch.where(below, a, b) for a, b in zip(negate(phase), phase, strict=True)))

    patch.setattr(general, "_along", along)


def angles_are_not_added(patch):
    patch.setattr(general, "add", lambda a, _: a)


def pairs_are_pairs(patch):
    exact = general.waves

    def waves(positions, ready, index):
        block = dataclasses.replace(ready.plan.blocks[index], by_column=False)
        bare = ready._replace(plan=dataclasses.replace(ready.plan, blocks=(block,)))
        sines, cosines = exact(positions, bare, 0)
        return (sines[..., 0::2], cosines[..., 0::2]) if ready.plan.blocks[index].by_column else (sines, cosines)

    patch.setattr(general, "waves", waves)


def batches_are_mixed_up(patch):
    exact = values.general_rows
    patch.setattr(
        values, "general_rows", lambda places, *rest: exact(places.flip(0) if len(places) > 9 else places, *rest)
    )


# Any of these shows in a law of shifts, products, positions read back, or columns.


def shifts_read_the_first_axis(patch):
    patch.setattr(algebra, "coordinate", lambda places, chosen, _: places if chosen.axes == 1 else places[..., 0])


def similarity_forgets_the_gain(patch):
    exact = algebra.turned

    def bare(*arguments):
        ready = exact(*arguments)
        return ready._replace(plan=dataclasses.replace(ready.plan, gain=1.0))

    patch.setattr(algebra, "turned", bare)


def similarity_forgets_an_axis(patch):
    exact = algebra.turned

    def bare(convention, dim, what):
        ready = exact(convention, dim, what)
        if what != "similarity":
            return ready
        return ready._replace(plan=dataclasses.replace(ready.plan, blocks=ready.plan.blocks[:1]), steps=ready.steps[:1])

    patch.setattr(algebra, "turned", bare)


def the_last_axes_are_not_read(patch):
    exact = locate._along
    patch.setattr(locate, "_along", lambda rows, block, *rest: exact(rows, block, *rest) * int(not block.axis))


def rows_are_compared_without_their_gain(patch):
    exact = locate._along
    patch.setattr(locate, "_along", lambda rows, *rest: exact(rows / rest[-1], *rest[:-1], 1.0))


def axes_lie_on_each_other(patch):
    exact = Columns._member
    patch.setattr(Columns, "_member", lambda self, first: exact(dataclasses.replace(self, axis=0), first))


# Any of these shows in the records of systems.


def another_recipe(patch):
    patch.setitem(recipes._LADDERS, "exp", recipes._LADDERS["recip-pow"])


def the_order_of_a_division(patch):
    patch.setitem(recipes._LADDERS, "exp-div", recipes._LADDERS["exp"])


def sines_are_too_good(patch):
    patch.setattr(
        recipes,
        "_waves",
        lambda angles, _: (angles.double().sin().to(angles.dtype), angles.double().cos().to(angles.dtype)),
    )


def the_first_frequency_is_lost(patch):
    exact = recipes.released_ladder
    patch.setattr(
        recipes, "released_ladder", lambda ladder, recipe: exact(dataclasses.replace(ladder, first=1), recipe)
    )


def the_scale_comes_early(patch):
    exact = recipes._angles

    def early(positions, ladder, recipe):
        if recipe != "exp-div":
            return exact(positions, ladder, recipe)
        return exact(positions.float() * float(ladder.scale), dataclasses.replace(ladder, scale=1), recipe)

    patch.setattr(recipes, "_angles", early)


def the_released_gain_is_lost(patch):
    exact = general.released_rows
    patch.setattr(general, "released_rows", lambda places, chosen: exact(places, dataclasses.replace(chosen, gain=1.0)))


def a_biased_deviation(patch):
    exact = torch.Tensor.std
    patch.setattr(torch.Tensor, "std", lambda self: exact(self, correction=0))
    moments = general._moments
    # Of 20 rows and 8 columns.
    patch.setattr(general, "_moments", lambda chosen: (moments(chosen)[0], moments(chosen)[1] * (159 / 160) ** 0.5))


MUTANTS = [
    ("every_law_1", batches_are_mixed_up),
    ("every_law_2", axes_change_places),
    ("every_law_2", axes_are_nested_the_other_way),
    ("every_law_2", the_gain_is_lost),
    ("every_law_2", every_axis_has_the_numbers_of_the_first),
    ("every_law_2", zero_rows_are_waves),
    ("every_law_2", inputs_stand_one_column_late),
    ("every_law_2", inputs_change_places),
    ("every_law_2", the_sign_is_kept),
    ("every_law_2", the_start_is_turned_too),
    ("every_law_2", angles_are_not_added),
    ("every_law_2", pairs_are_pairs),
    ("every_law_4", shifts_read_the_first_axis),
    ("every_law_4", axes_lie_on_each_other),
    ("every_law_5", similarity_forgets_the_gain),
    ("every_law_5", similarity_forgets_an_axis),
    ("every_law_6", the_last_axes_are_not_read),
    ("every_law_6", rows_are_compared_without_their_gain),
    ("every_law_7", axes_lie_on_each_other),
    ("every_law_7", axes_are_nested_the_other_way),
    ("as_recorded", axes_change_places),
    ("as_recorded", axes_are_nested_the_other_way),
    ("as_recorded", another_recipe),
    ("as_recorded", the_order_of_a_division),
    ("as_recorded", sines_are_too_good),
    ("as_recorded", the_first_frequency_is_lost),
    ("as_recorded", the_scale_comes_early),
    ("as_recorded", the_released_gain_is_lost),
    ("as_recorded", a_biased_deviation),
    ("by_mathematics", axes_change_places),
    ("by_mathematics", axes_are_nested_the_other_way),
    ("by_mathematics", the_gain_is_lost),
    ("by_mathematics", pairs_are_pairs),
    ("by_mathematics", a_biased_deviation),
]


@pytest.mark.parametrize(("held", "mutant"), MUTANTS, ids=lambda it: getattr(it, "__name__", it))
def test_a_mutant_is_caught(held, mutant, monkeypatch):
    mutant(monkeypatch)
    broken = False
    try:
        HELD[held]()
    except (AssertionError, ValueError):
        broken = True

    assert broken


@pytest.mark.parametrize("held", ["as_recorded", "by_mathematics"])
def test_what_is_whole_is_held(held):
    HELD[held]()


def test_every_law_has_a_mutant():
    assert {held for held, _ in MUTANTS} == set(HELD)
