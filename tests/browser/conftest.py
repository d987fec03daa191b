"""A real Chromium, that of the system, driven by Playwright. Without it these tests fail: they are never skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

INSTALL = "apt-get install chromium && pip install -e '.[browser]'"


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.fail(f"the browser tests need Chromium: {INSTALL}", pytrace=False)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.fail(f"the browser tests need Playwright: {INSTALL}", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])  # CI runs as root
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium) -> Iterator:
    """Open a page; at the end nothing may have gone wrong in it, and nothing may have been fetched."""
    contexts, faults = [], []

    def go(path: Path, width: int = 1400, fragment: str = "", dark: bool = False):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: faults.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda r: faults.append(r.url) if not r.url.startswith(("file:", "blob:")) else None)
        page.on("dialog", lambda dialog: (faults.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.goto(f"{path.resolve().as_uri()}#{fragment}")
        page.wait_for_selector("html[data-ready]", state="attached")
        page.wait_for_selector(".tabulator-row .place, .view:not([hidden]):not(#view-table)", state="attached")
        return page

    yield go
    for context in contexts:
        context.close()
    assert not faults, faults
