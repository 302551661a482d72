"""Looks through built pages: every link within them leads somewhere, and nothing is taken from the network.

    python scripts/check_docs.py build/docs

Scripts, styles, pictures and fonts must lie on the disk, beside the pages. A reader may be sent to a paper or to the
makers of the theme, all listed here; those addresses are looked at, not fetched. Exits with 1 where something is wrong.
"""

# ruff: noqa: INP001, T201 - a script, which prints

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a reader may be sent to. arXiv numbers are checked for their form.
OUTSIDE = re.compile(
    r"https://(arxiv\.org/abs/\d{4}\.\d{5}|www\.sphinx-doc\.org/|pradyunsg\.me|github\.com/pradyunsg/furo"
    r"|semver\.org)"
)
# What a style sheet takes from elsewhere.
FETCHED = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)")


class Page(HTMLParser):
    """What a page points to, what it loads, and the places in it that can be pointed to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self._tag = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort the addresses of one tag."""
        self._tag = tag
        said = {name: value or "" for name, value in attrs}
        self.ids |= {said[name] for name in ("id", "name") if name in said}
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        elif tag == "link":
            # The relations between pages are links; style sheets and icons are loaded.
            pages = {"index", "search", "next", "prev", "genindex", "canonical", "author", "copyright"}
            (self.links if said.get("rel") in pages else self.loads).append(said.get("href", ""))
        else:
            self.loads += [said[name] for name in ("src", "data", "poster", "srcset") if name in said]
        self.loads += FETCHED.findall(said.get("style", ""))

    handle_startendtag = handle_starttag

    def handle_data(self, data: str) -> None:
        """Look into styles and scripts that stand in the page itself."""
        if self._tag == "style":
            self.loads += FETCHED.findall(data)
        elif self._tag == "script":
            self.loads += re.findall(r"(?:https?:)?//[\w-]+\.[^\s\"']+", data)


def faults(root: Path) -> Iterator[str]:
    """What is wrong with the pages under a folder, one sentence each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    if not pages:
        yield f"{root}: no page"
    for path, page in pages.items():
        name = path.relative_to(root)
        for address in page.loads:
            if urlsplit(address).scheme not in ("", "data") or address.startswith("//"):
                yield f"{name}: loads {address} from the network"
            elif not address.startswith("data:") and not target(path, address).is_file():
                yield f"{name}: loads {address}, which is not there"
        for address in page.links:
            fault = wrong(path, address, pages)
            if fault:
                yield f"{name}: {fault}"
    for path in sorted(root.rglob("*.css")):
        for address in FETCHED.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(root)}: loads {address} from the network"


def target(path: Path, address: str) -> Path:
    """The file that an address in a page stands for."""
    where = unquote(urlsplit(address).path)
    return (path.parent / where).resolve() if where else path


def wrong(path: Path, address: str, pages: dict[Path, Page]) -> str:
    """What is wrong with a link; empty where all is well."""
    if urlsplit(address).scheme:
        return "" if OUTSIDE.match(address) else f"links to {address}, which is not among the known ones"
    file, anchor = target(path, address), unquote(urlsplit(address).fragment)
    if not file.is_file():
        return f"links to {address}, which is not there"
    # A search page is asked with words, and finds its places itself.
    if anchor and file in pages and anchor not in pages[file].ids:
        return f"links to {address}, and there is no such place"
    return ""


def main(folder: str) -> int:
    """Print what is wrong, or where to begin to read."""
    root = Path(folder).resolve()
    found = list(faults(root))
    for fault in found:
        print(fault, file=sys.stderr)
    if not found:
        print(f"docs: every link leads somewhere, nothing comes from the network; open {root / 'index.html'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
