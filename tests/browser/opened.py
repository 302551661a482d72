"""The page opened from disk in a browser, with all that it asks for and complains of written down."""

import os
from pathlib import Path

import pytest

from posenc import explorer

ROOT = Path(__file__).parents[2]
SIZES = {"wide": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
FROM_DISK = ("file:", "data:", "blob:")


def is_required() -> bool:
    """Whether there has to be a browser: CI says so, since a test that skips there would hide something."""
    return os.environ.get("POSENC_BROWSER") == "required"


def cannot(reason: str) -> None:
    """Skip, so that it is seen; a failure where POSENC_BROWSER says that there has to be a browser."""
    if is_required():
        pytest.fail(f"{reason}, and POSENC_BROWSER=required")
    pytest.skip(reason)


class Opened:
    """Pages opened in a test, with what they asked for and complained of."""

    def __init__(self, browser, folder: Path) -> None:
        self.browser, self.folder = browser, folder
        self.asked, self.complaints, self.contexts = [], [], []

    def __call__(self, *, size="wide", fragment="", state=None, report=None, **context):
        """The page in a window of that size, with a state and a report in its slots, ready to be used."""
        path = self.folder / f"page{len(self.contexts)}.html"
        path.write_bytes(explorer.page(state=state, report=report).encode())
        made = self.browser.new_context(viewport=SIZES[size], offline=True, **context)
        self.contexts.append(made)
        page = made.new_page()
        page.set_default_timeout(15_000)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.goto(path.as_uri() + fragment)
        page.wait_for_selector("html[data-ready]")
        return page

    def outside(self) -> list[str]:
        """What was asked of anything but the disk."""
        return [url for url in self.asked if not url.startswith(FROM_DISK)]

    def close(self) -> None:
        """Close every window."""
        for context in self.contexts:
            context.close()

    def check(self) -> None:
        """Close, and fail where anything was asked for or complained of."""
        self.close()
        assert self.asked
        assert self.outside() == []
        assert self.complaints == []
