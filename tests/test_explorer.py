"""The page as Python gives it away: its slots are filled, nothing breaks out of them, and it is known again."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from posenc import conventions, explorer
from posenc.errors import InputError
from posenc.explorer.state import BASES, CHOICES, LONGEST_SENTENCE, RANGES, STATE

REPORT = {"schema": 1, "target": "their.Layer", "convention": None, "checks": []}
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "]]> & &lt; &amp;",
    'he said "dog" \\ \\u003c',
    "line\u2028and paragraph\u2029",
    "half a pair \ud83d, a whole one 🐕, and a NUL \0",
    "مرحبا بالعالم",
]


class Scripts(HTMLParser):
    """What stands in each script that has an id, as a browser reads it."""

    def __init__(self, html):
        super().__init__()
        self.found, self.count, self._id = {}, 0, None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "script":
            self.count += 1
            self._id = dict(attrs).get("id")

    def handle_endtag(self, _tag):
        self._id = None

    def handle_data(self, data):
        if self._id:
            self.found[self._id] = self.found.get(self._id, "") + data


def slots(html):
    return {name: json.loads(text) for name, text in Scripts(html).found.items()}


def test_an_unfilled_page_says_nothing():
    assert slots(explorer.page()) == {"posenc-state": {}, "posenc-report": None}


def test_the_slots_hold_what_was_given():
    state = {"sentences": ["a b", "b a"], "dim": 128, "length": 300, "position": 299, "break": "halves", "base": 500.0}

    assert slots(explorer.page(state=state, report=REPORT)) == {"posenc-state": state, "posenc-report": REPORT}


@pytest.mark.parametrize("sentence", HOSTILE, ids=range(len(HOSTILE)))
def test_no_sentence_breaks_out_of_its_slot(sentence):
    plain = explorer.page()
    html = explorer.page(state={"sentences": [sentence, "dog"]}, report={**REPORT, "target": sentence})

    assert slots(html)["posenc-state"]["sentences"] == [sentence, "dog"]
    assert slots(html)["posenc-report"]["target"] == sentence
    assert Scripts(html).count == Scripts(plain).count
    # Nothing but the slots has changed, and they are ASCII without a sign of HTML.
    inside = re.findall(r'<script id="posenc-\w+" type="application/json">(.*?)</script>', html)
    assert len(inside) == 2
    assert all(text.isascii() and not set("<>&") & set(text) for text in inside)
    assert re.sub('(json">)[^<]*', r"\1", html) == re.sub('(json">)[^<]*', r"\1", plain)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"dinner": 1}, "state key 'dinner', but wanted one of sentences, base, dim"),
        ({"dim": 63}, "dim=63, but wanted an even width"),
        ({"dim": 64.0}, "dim=64.0, but wanted a whole number from 2 to 512"),
        ({"dim": True}, "dim=True"),
        ({"length": 8193}, "length=8193"),
        ({"position": -1}, "position=-1"),
        ({"position": 64}, "position=64, but wanted less than length=64; pass a larger length too"),
        ({"offset": 257}, "offset=257, but wanted a whole number from -256 to 256"),
        ({"dimension": 64}, "dimension=64, but wanted less than dim=64"),
        ({"base": 0}, "base=0, but wanted a number from 1 to 1000000000000"),
        ({"base": float("nan")}, "base=nan"),
        ({"convention": "openai_whisper"}, "did you mean 'openai-whisper'"),
        ({"convention": "llama"}, "convention='llama', but wanted 'transformer' or"),
        ({"convention": ["fairseq"]}, "convention="),
        ({"break": "everything"}, "break='everything'"),
        ({"sentences": ["dog"]}, "sentences=.*two strings"),
        ({"sentences": "ab"}, "sentences='ab'"),
        ({"sentences": ["dog", "x" * 8001]}, "a sentence of 8001 characters, but wanted at most 8000"),
    ],
    ids=str,
)
def test_what_the_page_could_not_show_is_refused(state, message):
    with pytest.raises(InputError, match=message):
        explorer.page(state=state)


@pytest.mark.parametrize("report", [{}, {**REPORT, "more": 1}, [REPORT], {**REPORT, "checks": [{"measured": 1j}]}])
def test_what_is_no_report_is_refused(report):
    with pytest.raises(InputError, match=r"report|JSON"):
        explorer.page(report=report)


def test_a_number_that_json_has_not_is_refused():
    with pytest.raises(InputError, match="JSON"):
        explorer.page(report={**REPORT, "checks": [{"measured": float("nan")}]})


def test_its_conventions_are_named_ones():
    assert set(CHOICES["convention"]) <= set(conventions)
    assert len(STATE) == len(set(STATE))


def test_a_page_is_known_again_and_others_are_not(tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(explorer.page().encode())
    assert explorer.is_ours(path)

    for foreign in (b"", b"<!doctype html><html>my thesis</html>", b"x" * 99 + path.read_bytes()):
        path.write_bytes(foreign)
        assert not explorer.is_ours(path)


SOURCE = Path(__file__).parents[1] / "web" / "src" / "core"


def test_a_page_is_asked_for_whatever_it_can_show_and_nothing_else():
    text = (SOURCE / "state.ts").read_text(encoding="utf-8")
    most = {name: float(value) for name, value in re.findall(r"const MOST_(\w+) = ([\de]+)", text)}
    asked = r'"{}"\], (\d+), (\w+),'
    found = {
        key: re.search(asked.format(key), text).groups() for key in ("dim", "length", "base", "position", "dimension")
    }
    ranges = {
        key: (int(low), most.get(high.removeprefix("MOST_")) or float(high)) for key, (low, high) in found.items()
    }

    assert ranges.pop("base") == BASES == (1, most["BASE"])
    assert ranges == {key: RANGES[key] for key in ranges}
    assert RANGES["offset"] == (-most["OFFSET"], most["OFFSET"])
    assert most["CHARACTERS"] == LONGEST_SENTENCE
    assert explorer.page(state={"base": 1e12})


def test_a_sentence_is_as_long_as_the_page_counts_it():
    assert explorer.page(state={"sentences": ["\N{DOG}" * 4000, "a"]})
    with pytest.raises(InputError, match="a sentence of 8002 characters"):
        explorer.page(state={"sentences": ["\N{DOG}" * 4001, "a"]})


def test_a_wrong_report_is_refused_without_naming_what_does_not_exist():
    with pytest.raises(InputError) as raised:
        explorer.page(report={"schema": 1})

    assert "posenc.check" not in str(raised.value)
