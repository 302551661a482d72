"""A browser for the tests of this folder, and a fixture that opens the page in it and lets nothing pass."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.opened import ROOT, Opened, cannot

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# The browser itself keeps quiet too: what is seen is the page's doing.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="package")
def browser():
    """Chromium, for as long as tests of this folder run: playwright keeps an event loop as long as it lives."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        cannot("no playwright here; `pip install playwright` brings it")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        cannot(f"no browser here; one of {', '.join(NAMES)} on the path is needed (Debian: apt-get install chromium)")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path) -> Iterator[Opened]:
    """Opens pages; afterwards nothing may have been asked for, and nothing complained of."""
    pages = Opened(browser, tmp_path)
    yield pages
    pages.check()


@pytest.fixture(scope="module")
def core(browser, tmp_path_factory):
    """One page for all tests of a file that only call its functions and change nothing."""
    pages = Opened(browser, tmp_path_factory.mktemp("core"))
    yield pages()
    pages.check()


@pytest.fixture(scope="session")
def pictures() -> Path:
    """The folder that screenshots are kept in, for whoever looks at them."""
    folder = Path(os.environ.get("POSENC_SCREENSHOTS") or ROOT / "results" / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
