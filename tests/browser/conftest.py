"""Fixtures of tests in a browser: the Chromium of this machine. Nothing is downloaded.

The browser is open for one module only: while it is, no event loop can be run in this process, so
that these tests start commands as processes.
"""

import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

_STATUS = "Failed to load resource: the server responded with a status"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Return a Chromium without a window."""
    program = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"none of {', '.join(PROGRAMS)} is installed on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """Return an empty page; whatever it reports as an error fails the test."""
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    errors: list[str] = []

    def report(message: ConsoleMessage) -> None:
        # A page that says what is wrong with a request has the status of an error.
        is_asset = urlsplit(message.location["url"]).path.startswith("/static/")
        is_status = message.text.startswith(_STATUS) and not is_asset
        if message.type == "error" and not is_status:
            errors.append(message.text)

    context.on("console", report)
    context.on("weberror", lambda error: errors.append(str(error.error)))
    yield context.new_page()
    context.close()
    assert errors == []
