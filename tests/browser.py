"""A real browser: Chromium from Debian, or from ``playwright install chromium``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

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


ALL = {"resultTypes": ["violations"]}
STYLE = {
    **ALL,
    "runOnly": ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"],
}
"""Options of axe: all rules, and only the rules whose result depends on the theme or the width."""
SCREENS: tuple[tuple[Literal["light", "dark"], int, dict[str, Any]], ...] = (
    ("dark", 360, STYLE),
    ("light", 1280, ALL),
)
TEXTS = "[...document.querySelectorAll('svg text')].map(one => one.getBoundingClientRect().height)"


def check_access(page: Page) -> None:
    """Check the page on a dark phone and on a light desktop: axe finds no fault, it fits, and the texts of
    charts can be read."""
    for scheme, width, rules in SCREENS:
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options=rules).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], (page.url, width)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, (page.url, width)
        assert min(page.evaluate(TEXTS), default=99) >= 11, (page.url, width)
