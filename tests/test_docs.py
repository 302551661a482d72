"""What the README and the docs say is tried: Python blocks run, and commands with their options exist."""

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
SHELL = re.compile(r"^```(?:sh|bash|shell|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# A command in a line of text; make passes its own on to one.
INLINE = re.compile(r"`(posenc [^`]+|make [^`]*ARGS=[^`]+)`")
FILE = re.compile(r"[\"']?(?P<name>[^\s\"']+\.[a-z]+)[\"']?")
# A new folder, which a block that writes makes first.
FOLDER = "files=$(mktemp -d)"
TARGETS = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
# Wide and plain, so that no option is cut short in a help text.
PLAIN = {"COLUMNS": "240", "NO_COLOR": "1", "TERM": "dumb"}


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def run_blocks(page: Path) -> int:
    """Run the Python blocks of a page in order, in one namespace; return how many there were."""
    examples = list(Sybil(parsers=[PythonCodeBlockParser(), SkipParser()]).parse(page).examples())
    for example in examples:
        example.evaluate()
    return len(examples)


def commands(text: str) -> list[list[str]]:
    """The commands of the shell blocks, as words, without comments and prompts."""
    lines = [line for block in SHELL.findall(text) for line in block.splitlines()]
    bare = [line.split("#")[0].removeprefix("$ ").strip() for line in lines]
    return [line.split() for line in bare if line]


def untrue(words: list[str]) -> str:
    """What is wrong with a command of ours; empty when all is well or the command is not ours."""
    if words[0] == "make":
        return "" if words[1] in TARGETS else f"no target {words[1]}"
    scripts = [word for word in words if word.endswith((".py", ".sh"))]
    if scripts:
        return ", ".join(f"no file {script}" for script in scripts if not (ROOT / script).is_file())
    if words[0] != "posenc":
        return ""
    command = [word for word in words[1:2] if not word.startswith("-")]
    asked = subprocess.run(
        [sys.executable, "-m", "posenc", *command, "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | PLAIN,
    )
    if asked.returncode:
        return asked.stderr
    options = {word.split("=")[0] for word in words if word.startswith("--")}
    return ", ".join(sorted(option for option in options if f"{option} " not in asked.stdout))


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(page)


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_commands_exist(page):
    named = commands(page.read_text(encoding="utf-8"))

    assert [(words, untrue(words)) for words in named if untrue(words)] == []


def files_of(words: list[str]) -> tuple[list[str], list[str]]:
    """The files that a command reads, and those that it writes."""
    read, written = [], []
    for before, word in itertools.pairwise(words):
        found = FILE.fullmatch(word.removeprefix('ARGS="'))
        if found and words[0] in ("posenc", "make"):
            (written if before in ("--out", "--plot") else read).append(found["name"])
    return read, written


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_a_command_reads_files_that_are_there(page):
    text = page.read_text(encoding="utf-8")
    named = [*commands(text), *(line.split() for line in INLINE.findall(text))]
    read, written = ([name for words in named for name in files_of(words)[side]] for side in (0, 1))

    assert [name for name in read if name not in written and not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_a_block_of_commands_leaves_nothing_in_the_checkout(page):
    for block in SHELL.findall(page.read_text(encoding="utf-8")):
        written = [name for words in commands(f"```sh\n{block}```\n") for name in files_of(words)[1]]

        assert [name for name in written if not name.startswith("$files/")] == []
        assert not written or any(line.startswith(FOLDER) for line in block.splitlines())


def test_the_readme_has_blocks_to_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert run_blocks(ROOT / "README.md") > 0
    assert ["make", "tour"] in commands(text)
    assert ["make", "test"] in commands(text)


# Lines of the README's shell blocks that a test cannot run, and why.
LEFT_OUT = {
    "make tour": "installs; CI runs it first of all",
    "make test": "is what runs this",
    "pip install .": "installs",
    'pip install ".[plots]"': "installs",
}
# What `. .venv/bin/activate` does, for the program under test.
ACTIVATE = 'export PATH="$PWD/.venv/bin:$PATH"\n'


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_shell_blocks_of_the_readme_run_in_order(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [line.split("  #")[0].strip() for block in SHELL.findall(text) for line in block.splitlines()]
    clone, temporary = tmp_path / "clone", tmp_path / "temporary"
    temporary.mkdir()
    there = clone / ".venv" / "bin"
    there.mkdir(parents=True)
    (there / "activate").write_text(ACTIVATE, encoding="utf-8")
    (there / "posenc").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m posenc "$@"\n', encoding="utf-8")
    (there / "posenc").chmod(0o755)
    # A clone has it.
    (clone / "README.md").write_text(text, encoding="utf-8")
    script = "\n".join(["set -ex", *(line for line in lines if line not in LEFT_OUT)])
    # No `posenc` but that of .venv; a browser that does nothing, and its page where it is cleaned up.
    env = {**os.environ, "PATH": "/usr/bin:/bin", "BROWSER": "true", "TMPDIR": str(temporary)} | PLAIN

    done = subprocess.run(["sh", "-c", script], cwd=clone, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-2000:]
    assert set(LEFT_OUT) <= set(lines)
    assert sum(line.startswith("posenc ") for line in lines) > 5
    # What is left there git does not see.
    left = {f"/{path.name}" for path in clone.iterdir()} - {"/.venv", "/README.md"}
    assert left <= set((ROOT / ".gitignore").read_text(encoding="utf-8").splitlines())
    # The last one recognises the table that a line above has made.
    assert "transformer" in done.stdout[-2000:]


BROKEN = [
    ("assert 1 == 2", AssertionError),
    (">>> 1 + 1\n3", Exception),
    ("import no_such_module", ImportError),
]


@pytest.mark.parametrize(("block", "error"), BROKEN)
def test_a_wrong_block_is_seen(block, error, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Text.\n\n```python\n{block}\n```\n", encoding="utf-8")

    with pytest.raises(error, match=r"1 == 2|Expected|no_such_module|^$"):
        run_blocks(page)


WRONG = [
    "make dinner",
    "python benchmarks/dinner.py",
    "posenc dinner",
    "posenc tour --dinner",
    "posenc --dinner",
]


@pytest.mark.parametrize("line", WRONG)
def test_a_command_that_is_not_there_is_seen(line):
    assert [bool(untrue(words)) for words in commands(f"```sh\n$ {line}  # soon\n```\n")] == [True]
