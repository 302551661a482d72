"""The pages are built without a warning, and what looks through them sees every fault that it is there for."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import posenc

ROOT = Path(__file__).parents[1]


def loaded(path):
    """A script or an extension of the docs, which are no package, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def check():
    return loaded(ROOT / "scripts" / "check_docs.py")


@pytest.fixture
def site(tmp_path):
    """A folder of pages, given as name=text."""

    def write(**pages):
        for name, text in pages.items():
            (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_sound_pages_pass(check, site, capsys):
    folder = site(
        index='<a href="#top" id="top">up</a> <a href="other.html#part%201">on</a><img src="data:image/png;base64,AA">'
        '<a href="https://arxiv.org/abs/1706.03762">paper</a><link rel="next" href="other.html">'
        '<link rel="stylesheet" href="page.css">',
        other='<h1 id="part 1">part</h1>',
    )
    (folder / "page.css").write_text("h1 { background: url(data:image/svg+xml;base64,AA) }", encoding="utf-8")

    assert list(check.faults(folder)) == []
    assert check.main(str(folder)) == 0
    assert str(folder / "index.html") in capsys.readouterr().out


FAULTS = [
    ('<a href="missing.html">on</a>', "missing.html, which is not there"),
    ('<a href="#missing">on</a>', "#missing, and there is no such place"),
    ('<a href="index.html#missing">on</a>', "#missing, and there is no such place"),
    ('<link rel="next" href="missing.html">', "missing.html, which is not there"),
    ('<img src="missing.png">', "missing.png, which is not there"),
    ('<link rel="stylesheet" href="missing.css">', "missing.css, which is not there"),
    ('<script src="https://cdn.example/a.js"></script>', "from the network"),
    ('<script src="//cdn.example/a.js"></script>', "from the network"),
    ('<link rel="stylesheet" href="https://cdn.example/a.css">', "from the network"),
    ('<link rel="preconnect" href="https://cdn.example">', "from the network"),
    ('<img src="https://cdn.example/a.png" />', "from the network"),
    ('<p style="background: url(https://cdn.example/a.png)">', "from the network"),
    ('<style>@import "https://cdn.example/a.css";</style>', "from the network"),
    ("<script>import('https://cdn.example/a.js')</script>", "from the network"),
    ('<a href="https://example.com">out</a>', "not among the known ones"),
    ('<a href="https://arxiv.org/abs/1706.3762">a number too short</a>', "not among the known ones"),
    ('<a href="http://arxiv.org/abs/1706.03762">not secure</a>', "not among the known ones"),
]


@pytest.mark.parametrize(("text", "said"), FAULTS)
def test_a_fault_is_seen(check, site, capsys, text, said):
    folder = site(index=text)

    assert [said in fault for fault in check.faults(folder)] == [True]
    assert check.main(str(folder)) == 1
    assert said in capsys.readouterr().err


def test_a_style_sheet_that_fetches_is_seen(check, site):
    folder = site(index="<p>")
    (folder / "page.css").write_text("@import url('https://cdn.example/font.css');", encoding="utf-8")

    assert [fault for fault in check.faults(folder) if "from the network" in fault]


def test_no_pages_are_no_success(check, tmp_path):
    assert check.main(str(tmp_path)) == 1


PLAIN = [
    ("-slope * |i - j|", r"-slope \* \|i - j\|"),
    ("`|x|` and |x|", r"`|x|` and \|x\|"),
    ("names or `Convention`s;", r"names or `Convention`\ s;"),
    (">>> 2 * 3", ">>> 2 * 3"),
]


@pytest.mark.parametrize(("line", "escaped"), PLAIN)
def test_signs_of_mathematics_are_no_markup(line, escaped):
    pytest.importorskip("sphinx", reason="the docs extra is not installed")

    assert loaded(ROOT / "docs" / "_ext" / "plain_docstrings.py").plain([line]) == [escaped]


FORMULAS = [
    (r"\text{PE}(p + k) = M_k \, \text{PE}(p)", 0),
    (r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", 0),
    (r"\begin{aligned} a &= b \\ &= c \end{aligned}", 1),
    (r"x^a^b", 1),
    (r"\nonsense", 1),
]


@pytest.mark.parametrize(("latex", "warnings"), FORMULAS)
def test_a_formula_that_cannot_be_drawn_warns(latex, warnings, monkeypatch):
    pytest.importorskip("sphinx", reason="the docs extra is not installed")
    pytest.importorskip("latex2mathml", reason="the docs extra is not installed")
    mathml, said = loaded(ROOT / "docs" / "_ext" / "mathml.py"), []
    monkeypatch.setattr(mathml.logger, "warning", lambda *words, **_: said.append(words))

    mathml.mathml(latex, "block")

    assert len(said) == warnings


def test_every_public_name_has_its_place_in_the_reference():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("*.md"))
    named = set(re.findall(r"\bposenc(?:\.\w+)+", pages))
    public = {f"posenc.{name}" for name in posenc.__all__ if not name.startswith("_")}
    public |= {f"posenc.positions.{name}" for name in posenc.positions.__all__ if name not in posenc.__all__}

    assert public - named == set()


def build(source, target):
    """Build pages as `make docs` does; skip where that cannot be."""
    for needed in ("sphinx", "furo", "myst_nb", "latex2mathml", "matplotlib"):
        pytest.importorskip(needed, reason="the docs extra is not installed; `make docs` builds the pages")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", source, target]
    return subprocess.run(command, capture_output=True, text=True, timeout=800, check=False)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_pages_are_built_and_run_without_a_warning(check, tmp_path):
    built = build(ROOT / "docs", tmp_path / "docs")

    assert (built.returncode, built.stderr) == (0, "")
    assert list(check.faults(tmp_path / "docs")) == []


@pytest.mark.slow
def test_a_cell_that_fails_and_a_reference_that_leads_nowhere_end_the_build(tmp_path):
    source = tmp_path / "pages"
    for part in ("_ext", "_static"):
        shutil.copytree(ROOT / "docs" / part, source / part)
    shutil.copy(ROOT / "docs" / "conf.py", source)
    page = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n\n# Page\n\n[on](nowhere.md)\n\n"
    page += "```{code-cell}\nassert 1 + 1 == 3\n```\n"
    (source / "index.md").write_text(page, encoding="utf-8")

    built = build(source, tmp_path / "docs")

    assert built.returncode == 1
    assert "assert 1 + 1 == 3" in built.stderr
    assert "nowhere.md" in built.stderr
