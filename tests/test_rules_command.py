"""``scrapy rules``, as used by people and programs."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

GOOD = """\
domain: example.org
feeds: https://example.org/rss
article:
  - ^/news/\\d+
deny: ^/news/13
interval: {feed: 5m}
layouts:
  - {valid_from: 2024-05-01, extract: {title: h1}, remove: aside}
"""
DEFAULTS = "deny: ^/login\ninterval: {article: 2d}\ndelay: 1.5\n"


@dataclass
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def rows(self) -> list[list[str]]:
        """Return the cells of a table, whose columns are separated by two spaces."""
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in self.out.splitlines()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "_defaults.yaml").write_text(DEFAULTS)
    (rules / "example.org.yaml").write_text(GOOD)
    return rules


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*words: str, rules: Path = folder) -> Answer:
        command = import_module("newsbot.commands.rules").Command()
        command.settings = Settings({"NEWSBOT_RULES": str(rules), "LOG_ENABLED": False})
        parser = argparse.ArgumentParser(conflict_handler="resolve", add_help=False)
        command.add_options(parser)
        options, rest = parser.parse_known_args(words)
        command.run(rest, options)
        captured = capsys.readouterr()
        return Answer(command.exitcode, captured.out, captured.err)

    return call


def test_check_prints_the_number_of_valid_rules(run: Any, folder: Path) -> None:
    assert run("check") == Answer(0, "1 rule is fine\n", "")
    (folder / "example.com.yaml").write_text("domain: example.com")
    assert run("check") == Answer(0, "2 rules are fine\n", "")


def test_check_reports_all_problems(run: Any, folder: Path) -> None:
    (folder / "a.org.yaml").write_text("domain: a.org\nartcle: x\n")
    (folder / "b.org.yaml").write_text("domain: b.org\ndelay: soon\nlearn: 3\n")
    answer = run("check")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.splitlines() == [
        "rules/a.org.yaml:2: artcle: unknown key (did you mean 'article'?)",
        "rules/b.org.yaml:2: delay: 'soon' is not a duration; write for example 30s, 5m, 6h or 1d",
        "rules/b.org.yaml:3: learn: must be true or false, not '3'",
    ]


def test_check_prints_hints_and_succeeds(run: Any, folder: Path) -> None:
    (folder / "a.org.yaml").write_text("domain: a.org\ndelay: 0.1\n")
    answer = run("check")
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "Hint: rules/a.org.yaml:2: delay: 0.1 s is less than one second; sites may block the crawler",
        "2 rules are fine",
    ]


def test_check_with_json(run: Any, folder: Path) -> None:
    (folder / "a.org.yaml").write_text("domain: a.org\nartcle: x\n")
    answer = run("check", "--json")
    assert answer.code == 1
    assert answer.json == {
        "rules": 1,
        "problems": [
            {
                "file": "rules/a.org.yaml",
                "line": 2,
                "key": "artcle",
                "text": "unknown key (did you mean 'article'?)",
            }
        ],
        "hints": [],
    }


def test_check_reads_only_the_given_files(run: Any, folder: Path, tmp_path: Path) -> None:
    (folder / "a.org.yaml").write_text("domain: a.org\nartcle: x\n")
    assert run("check", "rules/example.org.yaml").out == "1 rule is fine\n"
    assert run("check", "rules/a.org.yaml", "rules/example.org.yaml").err.count("\n") == 1
    (tmp_path / "b.org.yaml").write_text("domain: b.org\narticle: ^/login$\n")
    output = run("check", "b.org.yaml").out  # the defaults of the rules folder apply too
    assert "is denied by ^/login (rules/_defaults.yaml:1)" in output
    assert (
        run("check", "rules/none.yaml").err == "rules/none.yaml: cannot be read (No such file or directory)\n"
    )


def test_a_folder_without_rules(run: Any, tmp_path: Path) -> None:
    for words in (["check"], ["show"], ["show", "example.org"]):
        answer = run(*words, rules=tmp_path / "nowhere")
        assert answer.code == 1
        assert answer.err == (
            "nowhere: there is no rules folder here; set NEWSBOT_RULES to the folder with your rule files\n"
        )


def test_show_lists_all_rules(run: Any) -> None:
    answer = run("show")
    head, row = answer.rows()
    assert row == ["example.org", "1", "0", "0", "1", "2", "1.5s", "rules/example.org.yaml"]
    assert head == ["domain", "language", "feeds", "sitemaps", "sections", "article", "deny", "delay", "file"]
    (row,) = run("show", "--json").json
    assert (row["domain"], row["patterns"]["deny"], row["file"]) == (
        "example.org",
        2,
        "rules/example.org.yaml",
    )


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("/news/7?utm_source=x", "https://example.org/news/7: article"),
        ("/news/13", "https://example.org/news/13: denied"),
        ("/rss", "https://example.org/rss: feed"),
        ("/other", "https://example.org/other: unknown: no pattern matches"),
    ],
)
def test_show_prints_how_a_url_is_classified(run: Any, path: str, line: str) -> None:
    answer = run("show", f"https://example.org{path}")
    assert answer.code == 0
    assert answer.out.splitlines()[0] == line


def test_show_prints_the_pattern_and_its_line(run: Any) -> None:
    assert (
        run("show", "example.org/news/7").out.splitlines()[1] == r"by ^/news/\d+ (rules/example.org.yaml:4)"
    )
    data = run("show", "https://www.example.org/login", "--json").json
    assert data["denied"] is True
    assert data["pattern"] == {"text": "^/login", "file": "rules/_defaults.yaml", "line": 1}
    assert data["domain"] == "example.org"
    assert run("show", "https://example.org/rss").out.splitlines()[1] == "named in the rule itself"


def test_show_prints_the_effective_values_and_their_place(run: Any) -> None:
    rows = run("show", "news.example.org").rows()
    assert ["interval", "rules/example.org.yaml:6, rules/_defaults.yaml:2", "feed: 5m"] in rows
    assert ["interval", "rules/example.org.yaml:6, rules/_defaults.yaml:2", "article: 2d"] in rows
    assert ["deny", "rules/_defaults.yaml:1", "^/login"] in rows
    assert ["delay", "rules/_defaults.yaml:3", "1.5s"] in rows
    assert ["max_depth", "(built in)", "5"] in rows
    assert ["layouts", "rules/example.org.yaml:7", "from 2024-05-01: title: h1; remove: aside"] in rows
    rule = run("show", "example.org", "--json").json["rule"]
    assert rule["delay"] == {"value": 1.5, "where": "rules/_defaults.yaml:3"}
    assert rule["interval"]["value"]["feed"] == 300


def test_show_of_a_site_without_a_rule(run: Any) -> None:
    answer = run("show", "www.example.com")
    assert answer.out.splitlines()[0] == "example.com has no rule; the defaults apply"
    assert ["delay", "rules/_defaults.yaml:3", "1.5s"] in answer.rows()
    assert run("show", "example.com", "--json").json["file"] == "rules/_defaults.yaml"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["chek"], "unknown subcommand 'chek' (did you mean 'check'?); allowed: check, show"),
        ([], "a subcommand is needed: check, show"),
        (["show", "a", "b"], "unexpected argument 'b'"),
        (["show", "http://[x/"], "is neither a URL nor a domain such as example.org"),
        (["show", "a b"], "is neither a URL nor a domain"),
    ],
)
def test_wrong_usage_is_reported_in_one_line(run: Any, words: list[str], part: str) -> None:
    answer = run(*words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert part in answer.err


def test_show_prints_ten_lines_for_a_url_and_more_with_all(run: Any) -> None:
    short = run("show", "https://example.org/news/1").out.splitlines()
    assert len(short) <= 10
    assert short[-2].startswith("rule: rules/example.org.yaml (keys: domain, ")
    assert "--all" in short[-1]
    full = run("show", "https://example.org/news/1", "--all").out
    assert "concurrency" in full
    assert full.startswith("\n".join(short[:3]))
    assert "unknown.example has no rule; the defaults apply" in run("show", "https://unknown.example/a").out
