"""What `import posenc` gives: a frozen list of names, each found when it is asked for, none loaded before."""

import subprocess
import sys

import pytest

import posenc

PUBLIC = [
    "AlibiBias",
    "Convention",
    "EncoderBlock",
    "LearnedPositionalEmbedding",
    "PositionalEncoding",
    "RelativePositionBias",
    "RotaryEmbedding",
    "SequenceEmbedding",
    "TimestepEmbedding",
    "__version__",
    "conventions",
    "convert",
    "encode",
    "errors",
    "grid",
    "identify",
    "locate",
    "plots",
    "positions_from_lengths",
    "positions_from_mask",
    "rotate",
    "shard_positions",
    "shift",
    "shift_matrix",
    "similarity",
    "table",
    "wavelengths",
]
HEAVY = "sorted({'torch', 'numpy', 'matplotlib', 'mpmath', 'rich', 'typer'} & set(sys.modules))"
CORE = "sorted({'torch', 'numpy', 'matplotlib', 'mpmath'} & set(sys.modules))"


def fresh(code: str) -> str:
    """The last line that a fresh interpreter prints when it runs this code."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_the_names_are_frozen():
    assert sorted(posenc.__all__) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_there(name):
    assert getattr(posenc, name) is not None
    assert name in dir(posenc)


def test_the_layer_does_not_load_the_compiler_of_torch():
    # It takes most of a second, and nobody may ever need it.
    code = "import sys, torch, posenc; posenc.RotaryEmbedding(8), posenc.PositionalEncoding(8)(torch.zeros(1, 2, 8))"

    assert fresh(f"{code}; print('torch._dynamo' in sys.modules)") == "False"


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = posenc.no_such_name


def test_import_loads_nothing_heavy():
    assert fresh(f"import posenc, sys; print({HEAVY})") == "[]"


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["tour", "--help"], ["explore", "--help"], ["verify", "--help"], ["table", "--help"]],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(arguments):
    code = (
        "import atexit, runpy, sys\n"
        f"sys.argv = ['posenc', *{arguments}]\n"
        f"atexit.register(lambda: print({CORE}))\n"
        "runpy.run_module('posenc', run_name='__main__')"
    )

    assert fresh(code) == "[]"


def test_a_heavy_import_is_seen():
    assert fresh(f"import numpy, sys; print({CORE})") == "['numpy']"
