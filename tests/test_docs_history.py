"""The page about the three older systems names commands and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROWS = re.findall(
    r"^\| (?P<what>[^|]+) \| (?P<command>[^|]*) \| (?P<test>[^|]*) \|$",
    (ROOT / "docs/history.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
BUILT = [row for row in ROWS if row[0] != "what it did" and row[1].strip()]


def test_the_page_has_rows() -> None:
    assert len(BUILT) >= 25


@pytest.mark.parametrize(("what", "command", "test"), BUILT)
def test_each_row_has_a_command_and_a_test(what: str, command: str, test: str) -> None:
    # tests/test_docs_commands.py parses the commands of all pages.
    assert re.fullmatch(r"`newsbot [^`]+`", command), what
    assert (ROOT / test).is_file(), what
    assert "def test_" in (ROOT / test).read_text(encoding="utf-8"), what
