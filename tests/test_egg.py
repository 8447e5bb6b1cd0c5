"""In the egg of scrapyd-deploy, all files are read from the zip, without a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.crawls import World
from tests.scrapydserver import ROOT, SHIPPED, copy_project, scrapyd_deploy


@pytest.fixture(scope="module")
def egg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("egg")
    scrapyd_deploy(copy_project(folder, "http://127.0.0.1:1/"), os.environ, "--build-egg", "newsbot.egg")
    return folder / "newsbot.egg"


def test_the_egg_contains_all_files_that_the_code_reads(egg: Path) -> None:
    files = {
        str(path.relative_to(ROOT))
        for top in SHIPPED
        for path in (ROOT / top).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    expected = {
        name.replace("rules/", "newsbot/site_rules/", 1) if name.startswith("rules/") else name
        for name in files
    }
    with ZipFile(egg) as archive:
        assert expected <= set(archive.namelist())


def run_from(egg: Path, folder: Path, *words: str) -> str:
    """Run ``scrapy WORDS`` with the egg as the only source of newsbot."""
    environment = World(folder, None).environment(
        NEWSBOT_RULES="", PYTHONPATH=str(egg), SCRAPY_SETTINGS_MODULE="newsbot.settings"
    )
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rules_are_read_from_the_egg(egg: Path, tmp_path: Path) -> None:
    assert "newsbot.egg/newsbot/site_rules/lenta.ru.yaml:" in run_from(
        egg, tmp_path, "rules", "show", "lenta.ru"
    )


def test_the_demo_runs_from_the_egg(egg: Path, tmp_path: Path) -> None:
    out = run_from(egg, tmp_path, "demo", "--articles", "60", "--data", str(tmp_path / "demo"))
    assert "every article was stored exactly once" in out
