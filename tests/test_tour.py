"""The tour: it reads what it says it reads, and measures what mathematics and other people's numbers say."""

import json
import math

import pytest
import torch

from posenc import tour
from posenc.errors import InputError
from posenc.tour import extrapolation, order, properties, roles, text

ONE_ROUNDING = 2.0**-53


@pytest.fixture(scope="module")
def fast():
    """One fast tour over the story, and what its training reported."""
    heard = []
    result = tour.run(tour.read_text(), pace="fast", on_step=lambda *step: heard.append(step))
    return result, heard


# Order


def test_without_positions_a_shuffle_leaves_rounding_only(fast):
    for kind in ("shuffle", "sentences"):
        for layer in ("MultiheadAttention", "TransformerEncoderLayer"):
            none = fast[0]["order"][kind][layer]["none"]
            # Sums of up to 467 x 64 terms of size 1, in another order.
            assert none["float64"] < 1000 * ONE_ROUNDING
            assert none["float32"] < 1000 * 2.0**-24


def test_with_the_encoding_it_leaves_a_difference_that_is_the_same_in_both_precisions(fast):
    for kind in ("shuffle", "sentences"):
        for layer in ("MultiheadAttention", "TransformerEncoderLayer"):
            seen = fast[0]["order"][kind][layer]["sinusoidal"]
            assert seen["float64"] > 0.01
            assert seen["float32"] == pytest.approx(seen["float64"], rel=1e-4)


def ordered(first, second):
    return order.measure(["a", "b"], (first.split(), second.split()), dim=8, seed=0)["sentences"]


def test_sentences_of_other_words_are_told_as_such():
    found = ordered("the cat sat", "a dog ran")

    assert (found["words"], found["order"]) == ("different", "different")
    assert found["MultiheadAttention"]["none"]["float64"] > 0.01


def test_a_sentence_is_not_told_from_itself():
    found = ordered("ha ha ha", "ha ha ha")

    assert (found["words"], found["order"]) == ("same", "same")
    assert found["TransformerEncoderLayer"]["sinusoidal"]["float32"] == 0


def test_two_words_are_always_exchanged():
    assert all(order._shuffled(2).tolist() == [1, 0] for _ in range(20))


# The encoding


def test_wavelengths_run_from_two_pi_to_what_the_formula_says(fast):
    found = fast[0]["wavelengths"]

    assert found["first"] == pytest.approx(2 * math.pi, rel=1e-15)
    assert found["last"] == pytest.approx(2 * math.pi * 10000 ** (62 / 64), rel=1e-14)
    assert found["longer_than_text"] == sum(turn > 467 for turn in found["all"]) == 17


# From a published table of smallest distances, to its four decimals.
@pytest.mark.parametrize(("dim", "distance"), [(16, 1.0147), (32, 1.1716), (64, 1.4718), (512, 3.7143)])
def test_the_smallest_distance_is_that_of_neighbours(dim, distance):
    found = properties.uniqueness(properties.rows_of(62, dim))

    assert found["smallest_distance"] == pytest.approx(distance, abs=5e-5)
    assert found["positions"] == [0, 1]


def test_a_narrow_encoding_nearly_repeats_where_it_is_known_to():
    found = properties.uniqueness(properties.rows_of(300, 8))

    assert found["smallest_distance"] == pytest.approx(0.645, abs=5e-4)
    assert found["positions"] == [0, 63]


def test_rows_that_are_alike_are_found_wherever_they_are():
    rows = torch.eye(600, dtype=torch.float64)
    rows[587] = rows[300]
    found = properties.uniqueness(rows)

    assert found["smallest_distance"] == 0
    assert found["positions"] == [300, 587]


def test_values_are_bounded_and_every_norm_is_the_same(fast):
    found = fast[0]["size"]

    assert -1 <= found["smallest_value"] < -0.99
    assert found["largest_value"] == 1
    assert found["smallest_norm"] == pytest.approx(math.sqrt(32), rel=1e-15)
    assert found["largest_norm"] == pytest.approx(math.sqrt(32), rel=1e-15)


def test_a_shift_is_a_rotation_that_knows_the_offset_alone(fast):
    for found in fast[0]["rotation"]["offsets"]:
        # One product and one sum for each value, of numbers below 1, each rounded, as are the rows.
        assert found["residual"] < 8 * ONE_ROUNDING
        assert found["orthogonality"] < 4 * ONE_ROUNDING
    assert [o["offset"] for o in fast[0]["rotation"]["offsets"]] == [1, 46, 233]
    assert fast[0]["rotation"]["first_block_of_M_1"][0] == pytest.approx([math.cos(1), math.sin(1)], rel=1e-15)


def test_rows_that_do_not_rotate_leave_a_residual():
    rows = properties.rows_of(20, 8)
    rows[3] += 0.01

    assert properties.rotation(rows)["offsets"][0]["residual"] > 0.001


# From a published table of first rises; where K(k+1) > K(k) first, the rise is at k + 1.
@pytest.mark.parametrize(("dim", "rise"), [(8, 4), (16, 4), (32, 5), (64, 6), (128, 12), (256, 25), (512, 44)])
def test_likeness_first_rises_where_it_is_known_to(dim, rise):
    assert properties.likeness(properties.rows_of(62, dim))["first_rise"] == rise


def test_likeness_depends_on_distance_alone(fast):
    found = fast[0]["similarity"]

    # Dot products of 64 numbers below 1, in any order.
    assert found["largest_spread"] < 64 * 64 * ONE_ROUNDING
    assert found["error_against_law"] < 64 * 64 * ONE_ROUNDING
    assert [d["distance"] for d in found["distances"]] == [0, 1, 2, 5, 10, 20, 50, 100, 200]
    assert found["distances"][0]["similarity"] == pytest.approx(32, rel=1e-15)


def test_a_row_that_depends_on_more_has_a_spread():
    rows = properties.rows_of(20, 8)
    rows[3] += 0.01

    assert properties.likeness(rows)["largest_spread"] > 0.001


def test_rows_beyond_the_table_are_as_exact_as_those_inside(fast):
    found = fast[0]["extrapolation"]
    positions = found["positions"]

    assert [p["where"] for p in positions] == ["inside"] + ["beyond"] * 5
    # Half a unit in the last place of a value below 1 in float32.
    assert all(p["error"] <= 2.0**-25 for p in positions)
    assert positions[-1]["textbook_error"] > 1


def test_the_textbook_error_is_the_known_one():
    found = {p["position"]: p["textbook_error"] for p in extrapolation.measure(100, 512)["positions"]}

    # Measured elsewhere at some positions: the error grows as position x 2^-24.
    assert 1e-4 < found[5_000] < 5_000 * 2.0**-23
    assert 1e-3 < found[100_000] < 100_000 * 2.0**-23


# Roles


def test_without_order_exactly_one_half_is_right_and_with_it_nearly_all(fast):
    found = fast[0]["roles"]

    assert found["none"]["accuracy"] == 0.5
    assert found["bound_without_order"] == {"lowest": 0.5, "highest": 0.5}
    # The worst of twenty seeds was 0.996.
    assert found["sinusoidal"]["accuracy"] > 0.98
    assert found["none"]["parameters"] == found["sinusoidal"]["parameters"] < 6000


def test_twins_get_the_same_answer_without_order_and_another_with_it(fast):
    found = fast[0]["roles"]

    assert found["none"]["largest_difference_of_twins"] < 1000 * ONE_ROUNDING
    assert found["sinusoidal"]["largest_difference_of_twins"] > 1


def test_training_reports_its_steps(fast):
    heard = fast[1]

    assert heard[0] == ("none", 0, 400)
    assert heard[-1] == ("sinusoidal", 400, 400)
    assert len(heard) == 2 * 401


# The whole


def test_everything_can_be_written_as_json(fast):
    assert json.loads(json.dumps(fast[0], allow_nan=False)) == fast[0]
    assert fast[0]["schema"] == tour.SCHEMA


@pytest.mark.slow
def test_the_full_training_learns_to_read():
    found = roles.measure(seed=1)

    assert found["none"]["accuracy"] == 0.5
    # Ten seeds of ten were 1.0.
    assert found["sinusoidal"]["accuracy"] > 0.995


def test_a_seed_gives_the_same_numbers_and_another_seed_others():
    words = text.read_text().words[:20]
    first, again, other = (order.measure(words, (["a", "b"], ["b", "a"]), dim=8, seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert first != other


def test_fast_measures_fewer_words_and_says_so():
    long = text.Text("long", ("dog",) * 2000, "all")
    name, data = next(tour.sections(long, pace="fast"))

    assert name == "text"
    assert (data["words"], data["part"]) == (tour.FAST_WORDS, "start")


def test_the_shortest_text_has_every_section():
    stations = tour.sections(text.Text("short", ("ha", "ha"), "all"), dim=8)
    found = dict(next(stations) for _ in range(9))

    assert list(found)[-1] == "extrapolation"
    assert found["similarity"]["first_rise"] is None
    assert found["uniqueness"]["pairs_compared"] == 1


REFUSED = [
    ({"dim": 63}, "dim=63, but wanted an even width from 8 to 1024"),
    ({"dim": 6}, "dim=6"),
    ({"dim": 0}, "dim=0"),
    ({"dim": 2048}, "dim=2048"),
    ({"seed": -1}, "seed=-1"),
    ({"seed": 2**63}, "seed=9223372036854775808"),
    ({"pace": "slow"}, "pace='slow'"),
    ({"sentences": ("man", "dog bites man")}, "a sentence of 1 word, but"),
    ({"sentences": ("man bites dog", " ... ")}, "a sentence of 0 words"),
    ({"sentences": ("man bites", "dog " * 3000)}, "a sentence of 3000 words"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bad_arguments_are_refused_before_anything_is_measured(options, message):
    with pytest.raises(InputError, match=message):
        tour.sections(text.read_text(), **options)


def test_the_sentences_change_nothing_of_the_text():
    words = text.read_text().words[:40]
    one, two = (
        order.measure(words, sentences, dim=16, seed=3)["shuffle"]
        for sentences in ((["man", "bites", "dog"], ["dog", "bites", "man"]), (["aa", "zz"], ["zz", "aa"]))
    )

    assert one == two
