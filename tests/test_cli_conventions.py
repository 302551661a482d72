"""`posenc conventions`: every system is listed and explained, and what is said of it is true."""

import json
import math
import re
import subprocess
import sys

import pytest
from tests.named import ROTARY, TABLES

from posenc import Convention, cli
from posenc.cli.convention_words import differs, turning
from posenc.convention import systems
from posenc.plots import can_draw, is_ours
from posenc.verify import accuracy

NAMES = list(systems)


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """The command in a folder of its own: run(arguments...) -> exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["posenc", "conventions", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return int(stopped.value.code or 0), *capsys.readouterr()

    return call


@pytest.fixture
def document(run):
    """The JSON document of a call that ends well."""

    def call(*arguments):
        code, out, err = run(*arguments, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


@pytest.fixture
def quick(monkeypatch):
    """A picture that takes no time to measure."""
    monkeypatch.setattr(accuracy, "FURTHEST", 1000)
    monkeypatch.setattr(accuracy, "PER_DECADE", 2)
    monkeypatch.setattr(accuracy, "NEAR", 4)
    monkeypatch.setattr(accuracy, "DIM", 64)
    accuracy._measured.cache_clear()
    yield
    accuracy._measured.cache_clear()


def words(text):
    return set(re.findall(r"[\w-]+", text))


# The list.


def test_every_name_is_listed_on_lines_of_eighty(run):
    code, out, err = run()

    assert (code, err) == (0, "")
    assert set(NAMES) <= words(out)
    assert max(map(len, out.splitlines())) <= 80
    assert len(out.splitlines()) < 220
    assert "133 names" in out


def test_an_alias_that_is_no_longer_spelling_is_listed(run):
    said = words(run()[1])

    assert {"nllb", "flaubert", "rt-detr-2d", "guided-diffusion", "t5x"} <= said
    assert not {"hf-xglm", "sam-random"} & said


def test_a_mistake_is_marked_where_there_is_one(run):
    said = run()[1]

    for name, system in systems.items():
        assert (f"{name}*" in said) == bool(system.mistake), name


@pytest.mark.parametrize("word", ["nllb", "NLLB", "m2m_100", "hf_m2m100"])
def test_search_looks_at_names_aliases_and_sources(run, word):
    code, out, _ = run("--search", word)

    assert code == 0
    assert "m2m100" in words(out)
    assert "marian" not in words(out.split("posenc conventions m2m100")[0])


def test_search_finds_families(document):
    found = document("--search", "volume")["conventions"]

    assert {each["name"] for each in found} == {"positional-encodings-3d", "simple-vit-3d"}


def test_a_search_for_nothing_is_bad_news(run):
    code, out, err = run("--search", "xyzzy")

    assert (code, out) == (1, "")
    assert "'xyzzy'" in err
    code, out, err = run("--search", "xyzzy", "--json")
    assert (code, json.loads(out)["conventions"]) == (1, [])


def test_json_lists_everything(document):
    found = document()["conventions"]

    assert [each["name"] for each in found] == NAMES
    for each in found:
        system = systems[each["name"]]
        assert Convention.from_dict(each["options"]) == system.convention
        assert (each["source"], tuple(each["aliases"])) == (system.source, system.aliases)


# One of them.


@pytest.mark.parametrize("name", NAMES)
def test_every_system_is_explained_on_lines_of_eighty(run, name):
    code, out, err = run(name)
    system = systems[name]
    flat = " ".join(out.split())

    assert (code, err) == (0, "")
    assert out.startswith(name)
    assert max(map(len, out.splitlines())) <= 80
    own = turning(system.convention) if name in ROTARY else differs(system.convention)
    for said in (system.note, system.mistake, *system.aliases, *own):
        assert " ".join(said.split()) in flat
    assert system.source.replace("/", "") in out.replace("\n", "").replace(" ", "").replace("/", "") or (
        " " in system.source
    )
    assert ("mistake  " in out) == bool(system.mistake)


def test_other_spellings_are_the_same_page(run):
    assert run("hf_m2m100") == run("nllb") == run("m2m100")


def test_the_width_is_the_one_asked_for(document):
    said = document("openai-whisper", "--dim", 512)["convention"]

    assert said["dim"] == 512
    assert said["bands"][0]["formula"] == "w_k = 10000^(-k / 255), k = 0 .. 255"
    assert said["bands"][0]["wavelengths"][-1] == pytest.approx(2 * math.pi * 10000)


def test_a_frequency_beyond_float64_is_refused(run):
    code, out, err = run("nerf", "--dim", "9999")

    assert (code, out) == (2, "")
    assert "frequencies below 2^1024, which float64 holds" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["whisper"], "did you mean 'openai-whisper' or 'hf-whisper'"),
        ([""], "got convention ''"),
        (["fairseq", "marian"], "extra argument"),
        (["fairseq", "--search", "x"], "leave one out"),
        (["--plot", "a.png"], "add --accuracy"),
        (["fairseq", "--accuracy", "--plot", "a.png"], "ten famous systems"),
        (["--search", "fairseq", "--accuracy", "--plot", "a.png"], "ten famous systems"),
        (["--dim", "8"], "got --dim 8"),
        (["fairseq", "--accuracy", "--dim", "8"], "got --dim 8"),
        (["openai-whisper", "--dim", "7"], "got dim=7"),
        (["llama", "--dim", "7"], "got a rotary width of 7"),
        (["llama", "--accuracy"], "got the accuracy of 'llama', whose values are those of queries and keys"),
        (["--search", "rotary", "--accuracy"], "leave the rotary names out"),
        (["openai-whisper", "--dim", "0"], "got dim=0"),
        (["openai-whisper", "--dim", str(10**9)], "got dim=1000000000"),
        (["--accuracy", "--plot", "a.txt"], "ends in .png"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["page", "json"])
def test_wrong_usage_is_said_in_one_line_and_exits_with_2(run, tmp_path, arguments, message, form):
    code, out, err = run(*arguments, *form)

    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert not list(tmp_path.iterdir())


# Accuracy.


def test_accuracy_is_a_table_of_every_name(run):
    code, out, err = run("--accuracy")

    assert (code, err) == (0, "")
    assert set(TABLES) <= words(out)
    assert not set(ROTARY) & words(out)
    assert max(map(len, out.splitlines())) <= 80
    assert re.search(r"exp +2\.\de-5 +2\.\de-4 +6\.\de-3 +3\.0e-8\n +tensor2tensor, fairseq", out)


def test_accuracy_of_one(run):
    code, out, _ = run("openai_whisper", "--accuracy")

    assert code == 0
    assert "openai-whisper" in words(out)
    assert "fairseq" not in words(out)


def test_accuracy_as_json(document):
    said = document("--search", "perceiver", "--accuracy")

    assert said["positions"] == list(accuracy.POSITIONS)
    assert {each["name"] for each in said["accuracy"]} == {"hf-perceiver", "perceiver", "perceiver-pytorch"}
    assert all(0 < each["ours"][0] < each["released"][0] for each in said["accuracy"])


needs_matplotlib = pytest.mark.skipif(not can_draw(), reason="matplotlib is an extra")


@needs_matplotlib
def test_the_picture_is_drawn_and_drawn_again(run, tmp_path, quick):
    for _ in range(2):
        code, out, err = run("--accuracy", "--plot", "a.png")

        assert (code, err) == (0, "")
        assert out.splitlines()[-1] == "Wrote a.png"
        assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
        assert is_ours(tmp_path / "a.png")


@needs_matplotlib
def test_the_numbers_of_the_picture_are_in_the_json(document, quick):
    said = document("--accuracy", "--plot", "a.png")

    assert said["plot"] == "a.png"
    assert sorted(name for curve in said["curves"] for name in curve["names"]) == sorted(accuracy.FAMOUS)


@needs_matplotlib
@pytest.mark.parametrize(
    ("place", "message"),
    [("theirs.png", "which posenc did not make"), ("no/a.png", "folder is not there"), ("folder.png", "is a folder")],
)
def test_a_place_that_cannot_be_used_is_refused_before_anything_is_measured(run, tmp_path, place, message):
    (tmp_path / "theirs.png").write_bytes(b"mine")
    (tmp_path / "folder.png").mkdir()

    code, out, err = run("--accuracy", "--plot", place)

    assert (code, out) == (3, "")
    assert message in err
    assert (tmp_path / "theirs.png").read_bytes() == b"mine"


@needs_matplotlib
def test_a_failure_leaves_nothing_behind(run, tmp_path, quick, monkeypatch):
    def fail(figure, file, suffix):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("posenc.cli.plot_file.write", fail)
    code, _, err = run("--accuracy", "--plot", "a.png")

    assert code == 3
    assert "no space left on device" in err
    assert not list(tmp_path.iterdir())


def test_a_picture_without_matplotlib_is_refused(run, monkeypatch):
    monkeypatch.setattr("posenc.plots.can_draw", lambda: False)
    code, out, err = run("--accuracy", "--plot", "a.png")

    assert (code, out) == (2, "")
    assert "posenc[plots]" in err


def test_the_command_is_there_in_a_process_of_its_own():
    ended = subprocess.run(
        [sys.executable, "-m", "posenc", "conventions", "--search", "whisper", "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert {each["name"] for each in json.loads(ended.stdout)["conventions"]} == {"hf-whisper", "openai-whisper"}
    assert ended.stderr == ""
