"""The library alone, and imports of former places."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.crawls import ROOT, article_html


def loaded(code: str) -> tuple[str, set[str]]:
    """Run code in a process. Return the line that it prints, and the names of the loaded packages."""
    names = "import sys, json; print(json.dumps(sorted({one.partition('.')[0] for one in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{names}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    shown, modules = done.stdout.splitlines()[-2:]
    return shown, set(json.loads(modules))


SERVERS = {"scrapy", "twisted", "redis", "scrapy_redis", "pymongo", "aiohttp"}


def test_the_library_imports_no_server_and_loads_its_models_at_the_first_page() -> None:
    _shown, modules = loaded("from newsbot.pages import extract, read_page\nprint()")
    assert not modules & {*SERVERS, "numpy", "lxml", "yaml"}
    page = json.dumps(article_html(3))
    code = f"from newsbot.pages import extract\nprint(extract({page}, 'https://news.example/a').title)"
    title, modules = loaded(code)
    assert title.startswith("Council story number 3")
    assert not modules & SERVERS


def test_former_places_are_the_same_modules() -> None:
    code = """
import newsbot.extraction, newsbot.pages.extraction
from newsbot.rules.learn import learn
from newsbot.web.dashboard.access import make_access
import newsbot.pages.rules.learn, newsbot.search.query, newsbot.apps.search.query, newsbot.warc.reader
from importlib.resources import files
assert newsbot.extraction is newsbot.pages.extraction
assert learn is newsbot.pages.rules.learn.learn
assert newsbot.search.query is newsbot.apps.search.query
assert newsbot.extraction.__spec__.name == "newsbot.pages.extraction"
assert (files("newsbot.extraction") / "evidence.json").is_file()
try:
    import newsbot.search.nothing
except ModuleNotFoundError as error:
    print(error)
"""
    assert loaded(code)[0] == "No module named 'newsbot.apps.search.nothing'"
