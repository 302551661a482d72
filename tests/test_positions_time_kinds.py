"""What passes for a time: integers with a resolution, arrays, objects of Python and of pandas, and their origins."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction

import numpy as np
import pytest
import torch

from posenc.errors import InputError, PosencError
from posenc.positions import positions_from_timestamps

DAY = 86400
# In attoseconds, as numpy counts them.
LENGTHS = {"as": 1, "fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15, "s": 10**18}
UNITS = {"ns": 10**9, "us": 10**12, "ms": 10**15, "s": 10**18, "min": 60 * 10**18, "h": 3600 * 10**18,
         "day": DAY * 10**18, "week": 7 * DAY * 10**18}  # fmt: skip
MIDNIGHT = datetime(2024, 3, 1, tzinfo=UTC)


class Timestamp(datetime):
    """What pandas' own does, as far as it matters here: finer than microseconds, and UTC inside."""

    def to_datetime64(self):
        plain = self.astimezone(UTC).replace(tzinfo=None) if self.tzinfo else self
        return np.datetime64(datetime.isoformat(plain), "ns") + np.timedelta64(7, "ns")


class Timedelta(timedelta):
    """Likewise, for spans."""

    def to_timedelta64(self):
        return np.timedelta64(round(self / timedelta(microseconds=1)) * 1000 + 7, "ns")


class Series:
    """Hands its values to numpy, as a column of pandas does."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


@pytest.mark.parametrize(
    "given", [torch.tensor([1709251200, 1709337600]), [1709251200], np.array([1709251200]), 1709251200]
)
def test_unix_seconds_are_not_taken_for_nanoseconds(given):
    with pytest.raises(InputError, match=r'integer timestamps without a resolution, .+ pass resolution="s" where they'):
        positions_from_timestamps(given, "day")
    with pytest.raises(InputError, match="without a resolution"):
        positions_from_timestamps(given, "day", origin=np.datetime64("2024-01-01"))

    days = positions_from_timestamps(given, "day", resolution="s", origin=1709251200)
    assert days.flatten()[0] == 0
    # 2024-03-01 is 19783 days after 1970-01-01.
    assert positions_from_timestamps(given, "day", resolution="s").flatten()[0] == 19783


def hours(made):
    return tuple(map(tuple, made.tolist()))


class TestARowsOwnOrigin:
    # By hand: hours since the first event of each row.
    STAMPS = torch.tensor([[0, 3600, 7200], [7200, 10800, 90000]])
    HOURS = ((0, 1, 2), (0, 1, 23))

    @pytest.mark.parametrize("origin", [STAMPS[:, :1], STAMPS[:, 0], [0, 7200], [[0], [7200]], STAMPS[:, :1].numpy()])
    def test_of_integers(self, origin):
        made = positions_from_timestamps(self.STAMPS, "h", resolution="s", origin=origin)

        assert hours(made) == self.HOURS

    def test_of_times(self):
        times = self.STAMPS.numpy().astype("datetime64[s]")

        for origin in (times[:, :1], times[:, 0], times[:, :1].astype("datetime64[ms]"), times[:, :1].tolist()):
            assert hours(positions_from_timestamps(times, "h", origin=origin)) == self.HOURS
        fine = times.astype("datetime64[ns]")
        assert hours(positions_from_timestamps(fine, "h", origin=fine[:, :1])) == self.HOURS
        made = positions_from_timestamps(self.STAMPS, "h", resolution="s", origin=times[:, :1])
        assert hours(made) == self.HOURS

    def test_in_one_graph(self):
        call = torch.compile(
            lambda t: positions_from_timestamps(t, "h", resolution="s", origin=t[:, :1]),
            fullgraph=True,
            backend="aot_eager",
        )

        assert hours(call(self.STAMPS)) == self.HOURS

    def test_of_one_row_and_of_other_shapes(self):
        assert positions_from_timestamps(self.STAMPS[1], "h", resolution="s", origin=self.STAMPS[1, :1])[2] == 23
        for origin in (self.STAMPS, self.STAMPS[:, :2], torch.zeros(3, dtype=torch.int64)):
            with pytest.raises(InputError, match=r"wanted shape \(\) or \(2, 1\) or \(2,\)"):
                positions_from_timestamps(self.STAMPS, "h", resolution="s", origin=origin)
        with pytest.raises(InputError, match="origin=NaT"):
            positions_from_timestamps(
                self.STAMPS, "h", resolution="s", origin=np.array([["2024"], ["NaT"]], "datetime64[s]")
            )

    @pytest.mark.parametrize("origin", [5, torch.tensor(5), torch.tensor([5, 5]), [5, 5], np.int64(5)])
    def test_a_bare_integer_is_no_origin_of_times(self, origin):
        with pytest.raises(PosencError, match=r"for timestamps of datetime64.+ pass numpy.datetime64, with its unit"):
            positions_from_timestamps(self.STAMPS.numpy().astype("datetime64[s]"), "h", origin=origin)


def test_objects_of_python():
    times = [datetime(2024, 3, 1), datetime(2024, 3, 1, 6, 0, 0, 1)]  # noqa: DTZ001 - without a zone on purpose
    assert positions_from_timestamps(times, "us", origin=times[0]).tolist() == [0, 6 * 3600 * 10**6 + 1]
    assert positions_from_timestamps(np.array(times), "us", origin=times[0]).tolist() == [0, 6 * 3600 * 10**6 + 1]
    assert positions_from_timestamps(times[0], "day").item() == 19783
    assert positions_from_timestamps([date(2024, 3, 1), date(2024, 3, 4)], "day").tolist() == [19783, 19786]
    assert positions_from_timestamps([timedelta(hours=3), -timedelta(hours=1)], "h").tolist() == [3, -1]
    assert positions_from_timestamps([[timedelta(1)], [timedelta(2)]], "hours").tolist() == [[24], [48]]


def test_zones_are_brought_to_utc():
    east = timezone(timedelta(hours=2))
    times = [MIDNIGHT, MIDNIGHT.astimezone(east), datetime(2024, 3, 1, 5, tzinfo=east)]

    assert positions_from_timestamps(times, "h", origin=MIDNIGHT).tolist() == [0, 0, 3]
    assert positions_from_timestamps(times, "day").tolist()[0] == 19783
    with pytest.raises(InputError, match="with and without a zone"):
        positions_from_timestamps([MIDNIGHT, MIDNIGHT.replace(tzinfo=None)], "h")


def test_objects_of_pandas_keep_their_nanoseconds():
    times = [Timestamp(2024, 3, 1, tzinfo=UTC), Timestamp(2024, 3, 1, 2, tzinfo=timezone(timedelta(hours=1)))]

    for given in (times, Series(times)):
        made = positions_from_timestamps(given, "ns", origin=MIDNIGHT)
        assert made.tolist() == [7, 3600 * 10**9 + 7]
    assert positions_from_timestamps(times[0], "ns", origin=times[0]).item() == 0
    assert positions_from_timestamps([Timedelta(hours=1)], "ns").tolist() == [3600 * 10**9 + 7]
    assert positions_from_timestamps(Series(np.array(["2024-03-01"], "datetime64[ns]")), "day").tolist() == [19783]


def test_pandas_itself():
    pandas = pytest.importorskip("pandas", reason="pandas is not among the packages of the tests")
    times = pandas.to_datetime(["2024-03-01T00:00:00.000000007", "2024-03-01T06:00"])

    for given in (times, pandas.Series(times), list(times), times.tz_localize("UTC").tz_convert("Asia/Tokyo")):
        origin = pandas.Timestamp("2024-03-01", tz=getattr(given, "tz", None) and "UTC")
        assert positions_from_timestamps(given, "ns", origin=origin).tolist() == [7, 6 * 3600 * 10**9]


@pytest.mark.parametrize(("words", "short"), [
    ("nanosecond nanoseconds", "ns"), ("microsecond microseconds", "us"), ("millisecond milliseconds", "ms"),
    ("second seconds", "s"), ("minute minutes", "min"), ("hour hours", "h"), ("days", "day"), ("weeks", "week"),
])  # fmt: skip
def test_units_have_words(words, short):
    counts = torch.tensor([0, 5, -7])
    for word in words.split():
        for unit in ("ns", "week"):
            wanted = positions_from_timestamps(counts, unit, resolution=short)
            assert torch.equal(positions_from_timestamps(counts, unit, resolution=word), wanted)
        wanted = positions_from_timestamps(counts, short, resolution="s")
        assert torch.equal(positions_from_timestamps(counts, word, resolution="s"), wanted)


@pytest.mark.parametrize(("spellings", "short"), [
    ("NS Nanoseconds", "ns"), ("US \u00b5s \u03bcs", "us"), ("Milliseconds MILLISECOND", "ms"),
    ("S Second SECONDS sec secs", "s"), ("m Min MIN mins Minutes", "min"), ("H Hour HOURS hr hrs", "h"),
    ("d D Day DAYS", "day"), ("w W Week WEEKS", "week"),
])  # fmt: skip
def test_units_are_known_as_people_write_them(spellings, short):
    counts = torch.tensor([0, 5, -7])
    wanted = positions_from_timestamps(counts, "min", resolution=short)
    for spelling in spellings.split():
        assert torch.equal(positions_from_timestamps(counts, "min", resolution=spelling), wanted)


@pytest.mark.parametrize(("unit", "fix"), [
    ("M", "'M' is months to numpy; pass 'min' for minutes, or 'day': months differ in length."),
    ("MS", "'MS' is the start of a month to pandas; pass 'ms' for milliseconds."),
    ("Ms", "'Ms' is a million seconds; pass 'ms' for milliseconds."),
    ("month", "pass 'day', or count them yourself: months and years differ in length."),
    ("Years", "pass 'day', or count them yourself: months and years differ in length."),
    ("Y", "pass 'day', or count them yourself: months and years differ in length."),
    ("houres", "pass 'hours'."),
    ("milisecond", "pass 'millisecond'."),
    ("parsec", "choose one of these."),
    (None, "pass one, as in unit='day'."),
])  # fmt: skip
def test_a_refused_unit_says_what_to_pass(unit, fix):
    with pytest.raises(InputError) as caught:
        positions_from_timestamps(torch.tensor([1]), unit, resolution="s")
    assert str(caught.value).partition("; ")[2] == fix


def test_a_unit_left_out_is_asked_for():
    with pytest.raises(InputError, match=r"got no unit, but wanted 'ns' or .+; pass one, as in unit='day'\."):
        positions_from_timestamps(torch.tensor([1]), resolution="s")


@pytest.mark.parametrize("unit", ["M", "fortnight", "", None, 3, ["h"]])
def test_other_words_are_refused(unit):
    with pytest.raises(InputError, match=r"wanted 'ns' or .+ or 'week', or a word as 'hour' or 'hours'"):
        positions_from_timestamps(torch.tensor([1]), unit, resolution="s")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("resolution", LENGTHS)
def test_the_stated_bound_holds_for_every_resolution_of_numpy(resolution, unit):
    ratio = Fraction(LENGTHS[resolution], UNITS[unit])
    generator = np.random.default_rng(7)
    whole = int(1 / ratio) if ratio < 1 else 1
    top = min(2**63 - 1, int((2**63 - 1) / max(ratio, 1)))
    # Just below a unit, where a rest has the most bits, and everywhere else; the law is for positions below 2^53.
    near = [whole - 1 - int(each) for each in generator.integers(0, min(max(whole // 50, 2), 2**62), 300)]
    counts = [0, 1, -1, top, -top, *near, *generator.integers(-top, top, 300).tolist()]
    counts = [each for each in counts if abs(each) <= top and abs(each * ratio) < 2**53]

    made = positions_from_timestamps(np.array(counts).astype(f"timedelta64[{resolution}]"), unit)

    for got, count in zip(made.tolist(), counts, strict=True):
        exact = count * ratio
        bound = Fraction(math.ulp(float(abs(exact)))) / 2 + Fraction(1, 2**54)
        assert abs(Fraction(got) - exact) <= (0 if made.dtype == torch.int64 else bound), (count, got)


def test_far_units_of_the_finest_times():
    fine = np.array([0, 5, -5, 2**62]).astype("timedelta64[as]")

    assert positions_from_timestamps(fine, "week", fractions="drop").tolist() == [0, 0, -1, 0]
    assert positions_from_timestamps(fine[:1], "week", fractions="refuse").tolist() == [0]
    with pytest.raises(InputError, match="between two units of week"):
        positions_from_timestamps(fine, "week", fractions="refuse")


LAST = datetime(9999, 12, 31)  # noqa: DTZ001 - without a zone, as calendars say "for ever"
FAR = "int64 does not hold in the finest of their resolutions"


@pytest.mark.parametrize(
    "times",
    [
        [np.datetime64("2024-01-01", "ns"), LAST],
        [timedelta(1), timedelta(days=200_000_000)],
        timedelta.max,
        [np.datetime64(2**40, "s"), np.datetime64(1, "ns")],
        [np.array([2**40], "datetime64[s]"), np.array([1], "datetime64[ns]")],
    ],
    ids=["ns beside the last day", "spans", "the longest span", "resolutions", "arrays"],
)
def test_times_that_one_resolution_does_not_hold_are_refused_and_not_wrapped(times):
    """numpy brings them to the finest one, and wraps without a word: 9999-12-31 became a day in 1816."""
    with pytest.raises(InputError, match=FAR):
        positions_from_timestamps(times, "day")


def test_times_of_several_resolutions_are_exact():
    days = [np.datetime64("2024-01-01", "us"), LAST, date(1970, 1, 2)]

    assert positions_from_timestamps(days, "day").tolist() == [19723, 2932896, 1]
    assert positions_from_timestamps([date(2024, 1, 1), date(1970, 1, 2)], "day").dtype == torch.int64


@pytest.mark.parametrize(("hours", "day"), [(-5, 2932896 + 28.0 / 24), (5, 2932896 + 18.0 / 24)])
def test_a_zone_may_reach_beyond_the_last_year(hours, day):
    late = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=hours)))

    assert positions_from_timestamps(late, "day").item() == day


def test_times_that_do_not_exist_and_ragged_lists_are_said_to_be_that():
    for times in ([np.datetime64("NaT"), np.datetime64("2024-01-01", "ns")], [np.datetime64("NaT")]):
        with pytest.raises(InputError, match="NaT"):
            positions_from_timestamps(times, "day")
    with pytest.raises(InputError, match="rows of one length"):
        positions_from_timestamps([[1], [2, 3]], "s", resolution="s")
