"""The backup of the embedded file that docs/operations.md describes can be opened."""

from __future__ import annotations

import shlex
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from newsbot import backends
from tests.dashboarddata import fill
from tests.dashboards import settings_of

DOCS = Path(__file__).parent.parent / "docs" / "operations.md"


def test_the_documented_command_copies_a_file_in_use(tmp_path: Path) -> None:
    (line,) = [one.strip() for one in DOCS.read_text().splitlines() if "sqlite3.connect(" in one]
    data, copy = tmp_path / "data", tmp_path / "copy"
    data.mkdir()
    copy.mkdir()
    fill(settings_of(tmp_path, NEWSBOT_DATA=str(data)), articles=5)
    with closing(backends.open_storage({"NEWSBOT_DATA": str(data)})) as storage:
        _, *rest = shlex.split(line)
        subprocess.run([sys.executable, *rest], check=True, cwd=tmp_path)
        (tmp_path / "newsbot-backup.db").rename(copy / "newsbot.db")
        with closing(backends.open_storage({"NEWSBOT_DATA": str(copy)})) as restored:
            assert restored.articles.count() == storage.articles.count() == 5
