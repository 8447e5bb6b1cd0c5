"""The page about the three older systems: each row names a command that runs, and a test that exists."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from newsbot.cli.command import NewsbotCommand, choose, make_parser
from tests.commandline import ROOT, Place, article

ROWS = re.findall(
    r"^\| (?P<what>[^|]+) \| (?P<command>[^|]*) \| (?P<test>[^|]*) \|$",
    (ROOT / "docs/history.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
BUILT = [row for row in ROWS if row[0] != "what it did" and not row[0].startswith("-")]
ELSEWHERE = ("crawl", "workers", "demo", "serve", "sensor", "simulate", "monitor")
"""Commands that need a site, that run until they are stopped, or that take long. Their tests run them."""
NEEDS = {
    "rules learn": "8 of each are needed",
    "categories learn": "at least 10 of both are needed",
    "articles show --original": "NEWSBOT_WARC_DIR",
}
"""What the commands say that need more data than one article."""


def words_of(command: str) -> list[str]:
    return shlex.split(command.strip("`"))[1:]


def test_the_page_has_rows_and_none_is_missing() -> None:
    assert len(BUILT) >= 35
    assert not [what for what, command, test in BUILT if not (command.strip() and test.strip())]


@pytest.mark.parametrize(("what", "command", "test"), BUILT)
def test_each_row_has_a_valid_command_and_a_test(what: str, command: str, test: str) -> None:
    assert re.fullmatch(r"`newsbot [^`]+`", command), what
    path, _, name = test.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), what
    name, *words = words_of(command)
    if name in ("crawl", "demo", "workers"):
        return  # tests/test_docs_commands.py checks crawls; the other two take no words but a number
    known: NewsbotCommand = import_module(f"newsbot.commands.{name}").Command()
    action, rest = choose(known.actions, words)
    make_parser(name, action).parse(rest)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("history"))
    (place.folder / "reports").mkdir()
    (place.folder / "reports/one.txt").write_text("The bridge\n\n" + "The bridge is open again. " * 40)
    with place.storage() as storage:
        storage.articles.store(article(1))
    return place


RUN = sorted({command for _what, command, _test in BUILT if words_of(command)[0] not in ELSEWHERE})


@pytest.mark.parametrize("command", RUN)
def test_commands_that_need_no_site_run(command: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(place.folder))
    answer = place.run(*words_of(command))
    assert "Traceback" not in answer.err
    needs = next((text for name, text in NEEDS.items() if f"newsbot {name}" in command), None)
    if needs is None:
        assert answer.code == 0, answer.err
    else:
        assert answer.code == 2
        assert needs in answer.err
