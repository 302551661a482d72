"""The house rules that a test can hold by reading the source: who prints, no asserts, words, length."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "src" / "posenc"
FILES = sorted(HOUSE.rglob("*.py"))
WRITTEN = sorted(path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))

LONGEST = 300
PRINTERS = {"print", "pprint", "echo", "secho", "Console", "Progress", "Live", "track"}
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
# The field's words are position, step, phase, base; these mean three things each.
AMBIGUOUS = {"theta", "thetas", "freqs", "inv_freq", "inv_freqs"}


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def printing(source: str) -> set[str]:
    """The ways in which this source writes to a terminal."""
    nodes = list(ast.walk(ast.parse(source)))
    calls = {getattr(node.func, "attr", getattr(node.func, "id", "")) for node in nodes if isinstance(node, ast.Call)}
    streams = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return calls & PRINTERS | streams & STREAMS


def asserting(source: str) -> list[int]:
    """The lines on which this source asserts."""
    return [node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]


def identifiers(source: str) -> set[str]:
    """Every name that this source gives or uses; strings are other people's keys, and free."""
    nodes = ast.walk(ast.parse(source))
    names = {getattr(node, kind, None) for node in nodes for kind in ("id", "arg", "attr", "name")}
    return {name for name in names if isinstance(name, str)}


def opening(source: str) -> bool:
    """Whether the first line is a sentence in a docstring."""
    return re.match(r'(#!.*\n)?"""[A-Z`].{15,}', source) is not None


@pytest.mark.parametrize("path", FILES, ids=short)
def test_only_the_command_line_prints(path):
    if path.relative_to(HOUSE).parts[0] not in {"cli", "cli.py", "__main__.py"}:
        assert printing(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("path", FILES, ids=short)
def test_no_file_asserts(path):
    assert asserting(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", FILES, ids=short)
def test_names_are_the_words_of_the_field(path):
    assert identifiers(path.read_text(encoding="utf-8")) & AMBIGUOUS == set()


@pytest.mark.parametrize("path", WRITTEN, ids=short)
def test_every_file_is_short_and_opens_with_its_sentence(path):
    source = path.read_text(encoding="utf-8")

    assert len(source.splitlines()) <= LONGEST
    assert opening(source), 'the first line is """The sentence that the file keeps.'


@pytest.mark.parametrize("source", ["print(1)", "console.print(1)", "Console()", "sys.stderr.write('x')"])
def test_printing_is_seen(source):
    assert printing(f"def f():\n    {source}")


def test_an_assert_is_seen():
    assert asserting("def f(dim):\n    assert dim > 0") == [2]


@pytest.mark.parametrize("source", ["theta = 1", "def f(theta): ...", "def theta(): ...", "self.theta", "f(theta=1)"])
def test_an_ambiguous_word_is_seen(source):
    assert identifiers(source) & AMBIGUOUS == {"theta"}


def test_a_missing_sentence_is_seen():
    assert not opening("import torch\n")
    assert opening('"""Positions times steps."""\n')
