"""A browser for the tests of this folder, and a fixture that opens the page in it and lets nothing pass."""

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.opened import ROOT, Opened, cannot, is_required

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


def missing() -> str:
    """Why no browser can be started; empty where one can."""
    if importlib.util.find_spec("playwright") is None:
        return "no playwright here; `pip install playwright` brings it"
    if executable() is None:
        return f"no browser here; one of {', '.join(NAMES)} on the path is needed (Debian: apt-get install chromium)"
    return ""


def executable() -> str | None:
    """The path of the first browser there is."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a browser where there is none, so that the summary says why in a line for each file."""
    reason = missing()
    if reason and not is_required():
        for item in items:
            if item.path.parent == Path(__file__).parent and "browser" in item.fixturenames:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="package")
def playwright():
    """What starts browsers, for as long as tests of this folder run: it keeps an event loop as long as it lives."""
    if missing():
        cannot(missing())
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        yield started


def launched(playwright, **options):
    """A Chromium of this machine."""
    return playwright.chromium.launch(executable_path=executable(), args=list(ARGUMENTS), **options)


@pytest.fixture(scope="package")
def browser(playwright):
    """Chromium, with the fonts of this machine."""
    browser = launched(playwright)
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
