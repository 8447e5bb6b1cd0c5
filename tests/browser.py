"""A real browser: Chromium from Debian, or from ``playwright install chromium``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Error, Page, sync_playwright


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser. If none is installed, the test is skipped; in CI it fails."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except Error as error:
            text = f"no Chromium ({error.message[:80]}): apt-get install chromium"
            if os.environ.get("CI"):
                pytest.fail(text)
            pytest.skip(text)
        yield browser
        browser.close()


def check_access(page: Page) -> None:
    """Check that axe finds no fault and that the page fits, on a dark phone and on a light desktop."""
    schemes: tuple[Literal["light", "dark"], ...] = ("dark", "light")
    for width, scheme in zip((390, 1280), schemes, strict=True):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], (width, scheme)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, width
