"""Settings of the lesson and the reference: `make docs` builds them, offline, and runs every page."""

# ruff: noqa: INP001 - Sphinx loads it by its name

import logging
import os
import sys
import tempfile
from pathlib import Path

import posenc

# The colours of the theme set up logging when they are loaded, and would have everything told; the first one decides.
logging.basicConfig(level=logging.WARNING)

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "posenc"
author = "The posenc authors"
project_copyright = author
version = release = posenc.__version__
language = "en"

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb", "mathml", "plain_docstrings", "generated"]
exclude_patterns = ["README.md"]
# A reference that leads nowhere is a warning, and a warning ends the build.
nitpicky = True
# Types that are documented elsewhere, and three that a reader of values need not know.
nitpick_ignore_regex = [
    ("py:class", r"torch\.(Tensor|device|dtype)|collections\.abc\.(Mapping|Sequence)|Figure|Path|dataclasses\.InitVar"),
    ("py:class", r"posenc\.(layout\.Columns|frequency\.ladder\.Ladder|frequency\.stretch\.Stretch)"),
]

# The pages are run when they are built: what they print is what this version does.
nb_execution_mode = "force"
# A cell that fails is a warning that shows it, so that one build tells of all; warnings end the build.
nb_execution_raise_on_error = False
nb_execution_show_tb = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_render_markdown_format = "gfm"
# No widget is used, and their scripts would come from elsewhere.
nb_ipywidgets_js = {}
# Kernels find the helper of the pages, have a profile of their own, and one thread, so that two pages run side by side.
paths = [str(HERE / "_ext"), *filter(None, [os.environ.get("PYTHONPATH")])]
kernels = tempfile.TemporaryDirectory(prefix="posenc-docs-")
(Path(kernels.name) / "profile_default").mkdir()
(Path(kernels.name) / "profile_default" / "ipython_kernel_config.py").write_text(
    # Errors alone are logged: a kernel warns that it talks to this machine in plain text.
    "c.IPKernelApp.log_level = 40\nc.HistoryManager.enabled = False\n",
    encoding="utf-8",
)
os.environ.update(PYTHONPATH=os.pathsep.join(paths), IPYTHONDIR=kernels.name, OMP_NUM_THREADS="1")
os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # the kernel of this Python, not one of the user's

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
myst_update_mathjax = False
html_math_renderer = "mathml"

default_role = "literal"
# Dashes alone: quotes stand around words that are to be typed.
smartquotes_action = "D"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"posenc {version}"
html_static_path = ["_static"]
html_css_files = ["posenc.css"]
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
