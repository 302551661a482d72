"""The floor plan, held by a test: a file imports only what stands below it, also inside function bodies."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"
HOUSE = SRC / "posenc"
FILES = sorted(HOUSE.rglob("*.py"))

# Bottom to top; a floor is a file or a package, and floors of one line leave each other alone.
PLAN = """
errors
arguments
tracing
cache
reference
frequency
layout
phase
trig
recipes
convention
encoding
positions
readers
identification
modules
model
tasks
checks
plots
explorer
verify tour lab
cli
"""
RANK = {floor: rank for rank, line in enumerate(PLAN.split("\n")) for floor in line.split()}
STANDALONE = {"reference"}
DOORS = {"__init__", "__main__"}


def short(path: Path) -> str:
    return str(path.relative_to(HOUSE))


def floor_of(path: Path) -> str:
    """The floor that a source file stands on: its own name, or that of the package it is in."""
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def imported(path: Path, source: str) -> set[str]:
    """Dotted names of ours that this source imports, also inside functions and by `import_module`."""
    package = list(path.relative_to(SRC).parent.parts)
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            words = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            if called in {"import_module", "__import__"} and words:
                found.add(f"posenc{words[0]}" if words[0].startswith(".") else words[0])
    return {name for name in found if name.split(".")[0] == "posenc"}


def looks_up(path: Path, source: str) -> set[str]:
    """What this source imports although it does not stand below it; the package itself counts as the top."""
    own = floor_of(path)
    wrong = set()
    for name in imported(path, source) - {"posenc.__version__"}:
        floor = name.split(".")[1] if "." in name else name
        below = own not in STANDALONE and RANK.get(floor, len(RANK)) < RANK[own]
        if floor != own and not below:
            wrong.add(floor)
    return wrong


@pytest.mark.parametrize("path", FILES, ids=short)
def test_no_file_looks_up(path):
    if floor_of(path) in DOORS:
        return

    assert floor_of(path) in RANK, f"{short(path)} has no floor; give it one in PLAN"
    assert looks_up(path, path.read_text(encoding="utf-8")) == set()


def test_there_are_files_to_read():
    assert {floor_of(path) for path in FILES} >= {"errors", "phase", "cli"}


UPWARD = [
    "from .modules import PositionalEncoding",
    "from . import modules",
    "import posenc.modules",
    "from posenc import modules",
    "from posenc.modules import PositionalEncoding",
    "importlib.import_module('posenc.modules')",
    "importlib.import_module('.modules', 'posenc')",
    "def f():\n    from .modules import PositionalEncoding",
    "def f():\n    def g():\n        import posenc.modules as m",
    "if TYPE_CHECKING:\n    from .modules import PositionalEncoding",
]
UPWARD_FROM_A_PACKAGE = [
    "from ..modules import PositionalEncoding",
    "from .. import modules",
    "def f():\n    from ...posenc import modules",
]


@pytest.mark.parametrize("source", UPWARD)
def test_an_upward_import_is_seen(source):
    assert looks_up(HOUSE / "phase.py", source) == {"modules"}


@pytest.mark.parametrize("source", UPWARD_FROM_A_PACKAGE)
def test_an_upward_import_inside_a_package_is_seen(source):
    assert looks_up(HOUSE / "trig" / "exact.py", source) == {"modules"}
    assert looks_up(HOUSE / "trig" / "__init__.py", source) == {"modules"}


def test_the_public_door_is_no_way_up():
    assert looks_up(HOUSE / "phase.py", "import posenc") == {"posenc"}
    assert looks_up(HOUSE / "phase.py", "from posenc import PositionalEncoding") == {"PositionalEncoding"}


def test_floors_of_one_line_leave_each_other_alone():
    assert looks_up(HOUSE / "tour.py", "from .verify import verify") == {"verify"}


def test_the_reference_imports_nothing_of_ours():
    assert looks_up(HOUSE / "reference.py", "from .errors import refuse") == {"errors"}


# What torch.nn.Module calls on its subclasses, which override it: no other private name of torch is ours to use.
HOOKS = {"_apply", "_load_from_state_dict", "_save_to_state_dict"}
MARKS = {"_dynamo_marked_constant", "_is_compiling_flag", "_version", "_buffers", "_modules", "_parameters"}


def private_parts_of_torch(source: str) -> set[str]:
    """Private names of torch that a source uses: under `torch`, imported, or of modules and tensors."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            dotted = ast.unparse(node)
            hidden = any(part.startswith("_") and not part.startswith("__") for part in dotted.split("."))
            if dotted.startswith("torch.") and hidden:
                found.add(dotted)
            elif node.attr in MARKS or node.attr.startswith("_non_persistent"):
                found.add(node.attr)
            elif isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()" and hidden:
                found |= {node.attr} - HOOKS
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch" and not node.level:
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            found |= {name for name in names if name.startswith("_")}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("torch") and "._" in alias.name}
        elif isinstance(node, ast.Constant) and node.value in MARKS:
            found.add(node.value)
    return found


@pytest.mark.parametrize("path", FILES, ids=short)
def test_only_one_file_names_private_parts_of_torch(path):
    found = private_parts_of_torch(path.read_text(encoding="utf-8"))

    assert found == set() or short(path) == "tracing.py"


def test_the_file_that_asks_torch_has_something_to_ask():
    assert private_parts_of_torch((HOUSE / "tracing.py").read_text(encoding="utf-8"))


PRIVATE = [
    ("torch._C._is_tracing()", "torch._C._is_tracing"),
    ("from torch._subclasses import FakeTensorMode", "_subclasses"),
    ("from torch.compiler import _is_compiling", "_is_compiling"),
    ("import torch._dynamo as d", "torch._dynamo"),
    ("f._dynamo_marked_constant = True", "_dynamo_marked_constant"),
    ("getattr(torch.compiler, '_is_compiling_flag')", "_is_compiling_flag"),
    ("x._version", "_version"),
    ("self._non_persistent_buffers_set", "_non_persistent_buffers_set"),
    ("super()._replicate_for_data_parallel()", "_replicate_for_data_parallel"),
]


@pytest.mark.parametrize(("source", "name"), PRIVATE)
def test_a_private_part_of_torch_is_seen(source, name):
    assert name in private_parts_of_torch(source)


def test_public_parts_of_torch_are_left_alone():
    source = "torch.compiler.is_compiling()\nsuper()._apply(f)\nself._plan\nfrom torch import nn\ntorch.__version__"

    assert private_parts_of_torch(source) == set()


SOUND = [
    ("trig/exact.py", "import torch\nfrom . import quarter\nfrom .rounding import x\nfrom .. import errors"),
    ("trig/__init__.py", "from .exact import x\nfrom ..phase import y"),
    ("cli.py", "from posenc import __version__\nfrom .tour import x\nimport posenc.verify"),
]


@pytest.mark.parametrize(("place", "source"), SOUND)
def test_downward_and_sideways_imports_are_left_alone(place, source):
    assert looks_up(HOUSE / place, source) == set()


def test_every_module_is_found_under_its_own_name():
    """A function named like its package would hide everything in it: `import posenc.encode.values` failed so."""
    code = """
import importlib, pkgutil, sys
import posenc
names = [m.name for m in pkgutil.walk_packages(posenc.__path__, "posenc.") if not m.name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
for name in posenc.__all__:
    getattr(posenc, name)
def found(name):
    place = posenc
    for part in name.split(".")[1:]:
        place = getattr(place, part, None)
    return place
print([name for name in names if found(name) is not sys.modules[name]])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"
