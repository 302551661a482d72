"""Sets of fonts that a reader may have, each as a fontconfig of its own, so that a browser sees no others."""

import os
from pathlib import Path
from xml.sax.saxutils import escape

# A file of each set, found below one of FOLDERS, and the Debian package that brings it.
SETS = {
    # Chromium ends at the first form control where there is no font at all, so this is the least.
    "one": ("DejaVuSans.ttf", "fonts-dejavu"),
    "dejavu": ("DejaVuMathTeXGyre.ttf", "fonts-dejavu"),
    "liberation": ("LiberationSans-Regular.ttf", "fonts-liberation"),
    "noto": ("NotoSans-Regular.ttf", "fonts-noto-core"),
}
FOLDERS = (
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    Path.home() / ".local" / "share" / "fonts",
    Path.home() / ".fonts",
)
# Which fonts serif and its kin are is the machine's rule, as it is for its readers.
CONFIG = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
  <include ignore_missing="yes">/etc/fonts/conf.d</include>{only}
</fontconfig>
"""
ONLY = """
  <selectfont>
    <rejectfont><glob>*</glob></rejectfont>
    <acceptfont><glob>{file}</glob></acceptfont>
  </selectfont>"""


def missing(name: str) -> str:
    """Why no browser can be given this set; empty where one can."""
    file, package = SETS[name]
    return (
        "" if _found(file) else f"no {file} here; the fonts of {name!r} are needed (Debian: apt-get install {package})"
    )


def environment(name: str, folder: Path) -> dict[str, str]:
    """The variables under which a program sees this set and no other font; its configuration goes into the folder."""
    file = _found(SETS[name][0])
    assert file is not None, missing(name)
    only = ONLY.format(file=escape(str(file))) if name == "one" else ""
    config = folder / f"{name}.conf"
    config.write_text(
        CONFIG.format(fonts=escape(str(file.parent)), cache=escape(str(folder / "cache")), only=only), encoding="utf-8"
    )
    return {**os.environ, "FONTCONFIG_FILE": str(config)}


def _found(file: str) -> Path | None:
    return next((path for folder in FOLDERS if folder.is_dir() for path in folder.rglob(file)), None)
