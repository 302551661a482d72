"""The source of the page keeps the rules of the house: short files with a first sentence, and nobody's addresses."""

import json
import re
from pathlib import Path

import pytest

WEB = Path(__file__).parents[1] / "web"
FOLDERS = ("src", "test", "build")
FILES = sorted(
    path for folder in FOLDERS for path in (WEB / folder).rglob("*") if path.suffix in {".ts", ".mjs", ".css", ".html"}
)
LONGEST = 300
OPENING = re.compile(r"(/\*\*? |// )[A-Z\"].{15,}")


def short(path: Path) -> str:
    return str(path.relative_to(WEB))


@pytest.mark.parametrize("path", FILES, ids=short)
def test_every_file_is_short_and_opens_with_its_sentence(path):
    text = path.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= LONGEST
    # Sections are prose themselves.
    assert path.suffix == ".html" or OPENING.match(text)


def test_there_are_files_to_read():
    assert {path.suffix for path in FILES} == {".ts", ".mjs", ".css", ".html"}
    assert not OPENING.match('import { x } from "./x"\n')


def test_the_lock_file_names_exact_versions_and_no_registry():
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))
    wanted = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    packages = {name: entry for name, entry in lock["packages"].items() if name}

    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    assert [name for name, entry in packages.items() if not entry.get("integrity")] == []
    for name, version in wanted["devDependencies"].items():
        assert packages[f"node_modules/{name}"]["version"] == version
    # Nothing is needed to use the page: all of it is built in.
    assert "dependencies" not in wanted
