"""The wheel is whole: built, unpacked elsewhere and run with the source out of the way."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "src" / "posenc"
# Where the wheel must bring its own: nothing of the checkout is on the path, and no cache is written there.
PLAIN = {"COLUMNS": "240", "NO_COLOR": "1", "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"}

pytestmark = pytest.mark.slow


def run(*arguments: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | PLAIN | environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT), cwd=folder)
    (built,) = folder.glob("posenc-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder that holds the wheel's content and nothing else, for PYTHONPATH."""
    folder = tmp_path_factory.mktemp("installed")
    run(
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--target",
        str(folder),
        str(wheel),
        cwd=folder,
    )
    return folder


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    there = {str(path.relative_to(HOUSE.parent)) for path in HOUSE.rglob("*") if path.is_file()}
    wanted = {name for name in there if "__pycache__" not in name}

    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert packed == wanted
    assert {"posenc/py.typed", "posenc/explorer/page.html"} <= packed
    assert [name for name in packed if name.startswith("posenc/data/") and name.endswith(".txt")]


def test_the_wheel_says_what_it_is(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" in name]
        said = {Path(name).name: archive.read(name).decode() for name in names}
    needs = [line for line in said["METADATA"].splitlines() if line.startswith("Requires-Dist:")]

    assert "posenc = posenc.cli:main" in said["entry_points.txt"]
    assert "License-Expression: Apache-2.0" in said["METADATA"]
    assert "Apache License" in said["LICENSE"]
    assert "Requires-Dist: torch>=2.7" in needs
    assert [line for line in needs if "<" in line or "==" in line.partition(";")[0]] == []


def test_the_wheel_runs_without_the_source(installed, tmp_path):
    code = "import posenc, sys; print(posenc.__file__, posenc.__version__, 'matplotlib' in sys.modules)"

    file, version, drawn = run("-c", code, cwd=tmp_path, PYTHONPATH=str(installed)).split()

    assert Path(file) == installed / "posenc" / "__init__.py"
    assert installed.joinpath(f"posenc-{version}.dist-info").is_dir()
    assert drawn == "False"


@pytest.fixture
def posenc(installed, tmp_path):
    """Runs the command line of the wheel in an empty folder."""
    return lambda *words: run("-m", "posenc", *words, cwd=tmp_path, PYTHONPATH=str(installed))


@pytest.mark.parametrize("command", ["", "tour", "explore", "verify", "table"])
def test_help_runs(posenc, command):
    assert "--help" in posenc(*command.split(), "--help")


def test_the_tour_reads_the_text_that_ships(posenc):
    told = json.loads(posenc("tour", "--fast", "--json"))

    assert told["roles"]["none"]["accuracy"] == 0.5
    assert told["roles"]["sinusoidal"]["accuracy"] > 0.5


def test_the_page_is_there_and_is_filled(posenc, tmp_path):
    posenc("explore", "--sentences", "she told him", "him told she", "--out", "page.html")

    assert "him told she" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_table_is_written(posenc, tmp_path):
    posenc("table", "--positions", "0:4", "--dim", "6", "--out", "rows.npy")

    assert np.load(tmp_path / "rows.npy").shape == (4, 6)
