"""A real browser: Debian's Chromium, or the one that ``playwright install chromium`` brings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Error, sync_playwright


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start it; skips (in CI: fails) where there is none."""
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
