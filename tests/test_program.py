"""The program ``newsbot`` works in any folder, with the commands of ``scrapy``."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import newsbot.commands
from newsbot.apps.authoring.importing import FILES
from newsbot.apps.operations.completion import FOR_ZSH
from newsbot.cli.program import OF_SCRAPY, all_commands, help_text
from newsbot.pages.rules import load_rules
from tests.commandline import Answer
from tests.crawls import ROOT
from tests.newssite import HOST, serve

OPML = """\
<?xml version="1.0"?><opml version="2.0"><body><outline text="Towns">
<outline text="Fen" xmlUrl="https://feeds.fen.example/rss" htmlUrl="https://fen.example/"/>
</outline></body></opml>
"""


def run(folder: Path, *words: str, text: str = "", **environment: str) -> Answer:
    """Run ``python -m newsbot WORDS`` in a folder, as if newsbot were installed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEWSBOT_", "SCRAPY_"))}
    done = subprocess.run(
        [sys.executable, "-m", "newsbot", *words],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), **environment},
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Answer(done.returncode, done.stdout, done.stderr)


def test_the_help_names_each_command_and_does_not_import_scrapy(tmp_path):
    names = {module.name for module in iter_modules(newsbot.commands.__path__)}
    assert set(all_commands()) == names
    for name in OF_SCRAPY:
        import_module(f"scrapy.commands.{name}")
    code = "import sys; from newsbot.__main__ import main; main(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(help_text())
    modules = set(done.stdout.splitlines()[-1].split())
    assert modules.isdisjoint({"scrapy", "twisted", "yaml", "lxml", "asyncio", "newsbot.cli.command"})


def test_the_help_the_version_and_unknown_commands(tmp_path):
    assert run(tmp_path).out == run(tmp_path, "--help").out == help_text() + "\n"
    assert re.fullmatch(r"[\d.]+\n", run(tmp_path, "--version").out)
    wrong = run(tmp_path, "serch", "x")
    assert wrong.code == 2
    assert wrong.err == (
        "newsbot: unknown command 'serch' (did you mean 'search'?); run newsbot to see all commands\n"
    )


def test_messages_name_the_program_that_was_started(tmp_path):
    missing = run(tmp_path, "search", "bridge")
    assert (missing.code, missing.out) == (1, "")
    crawl = "newsbot crawl news (or set NEWSBOT_DATA)\n"
    assert missing.err == f"data/newsbot.db: no crawl has run yet; run: {crawl}"  # of the shipped rules
    assert run(tmp_path, "sources", "--nope").err.startswith("newsbot sources: unknown option --nope")
    assert run(tmp_path, "why", "-h").out.startswith("usage: newsbot why ")


def test_a_search_in_a_project_without_sites_names_the_first_step(tmp_path):
    run(tmp_path, "init")
    rules, data = tmp_path / "rules", tmp_path / "data" / "newsbot.db"
    begun, crawl = f"{data}: no crawl has run yet; ", "newsbot crawl news (or set NEWSBOT_DATA)\n"
    first = f"{rules} has no sites; run: newsbot init --sites starter; then: "
    assert run(tmp_path, "search", "bridge").err == f"{begun}{first}{crawl}"
    (rules / "_defaults.yaml").write_text("")
    assert run(tmp_path, "search", "bridge").err == f"{begun}{first}{crawl}"
    (rules / "example.org.yaml").write_text("domain: example.org")
    assert run(tmp_path, "search", "bridge").err == f"{begun}run: {crawl}"


def test_a_command_that_writes_names_the_folder_of_the_data(tmp_path):
    added = run(tmp_path, "add", "https://example.org/news/1", "--json")
    assert added.err.endswith(f"data: {tmp_path / 'data'}\n")
    assert json.loads(added.out)
    listed = run(tmp_path, "rules", "show", "lenta.ru")  # the rules that newsbot brings along
    assert "rules/lenta.ru.yaml" in listed.out


def test_a_new_project_crawls_a_site_and_finds_the_articles(site, world, tmp_path):
    serve(site, world, 2)
    made = run(tmp_path, "init", "mine")
    assert made.code == 0
    project = tmp_path / "mine"
    assert {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()} == set(FILES)
    assert f"{project / 'rules'} (0 new rules)" in made.out
    for way in (
        "newsbot demo",
        "newsbot rules new example.org",
        "newsbot rules import opml",
        "--sites starter",
    ):
        assert way in made.out
    inner = project / "rules"
    proxies = world.web.environment
    empty = run(inner, "crawl", **proxies)
    assert empty.code == 2
    assert "there are no rules in" in empty.err
    crawl = run(inner, "crawl", "-a", f"feeds={HOST}/feed.xml", **proxies)
    assert crawl.code == 0, crawl.err
    assert f"data: {project / 'data'}" in crawl.err
    assert "to read them: newsbot search WORD" in crawl.err
    assert not (inner / "data").exists()
    found = run(project, "search", "council", "--json")
    assert len(found.json) == 2


def test_settings_of_a_project_apply(tmp_path):
    run(tmp_path, "init", ".")
    with (tmp_path / "settings.py").open("a") as stream:
        stream.write('NEWSBOT_DATA = "elsewhere"\n')
    added = run(tmp_path, "add", "https://a.example/1")
    assert f"data: {tmp_path / 'elsewhere'}" in added.err
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = nowhere\n")
    wrong = run(tmp_path, "why", "https://a.example/1")
    assert wrong.code == 1
    assert "scrapy.cfg or SCRAPY_SETTINGS_MODULE: the settings nowhere cannot be imported" in wrong.err
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = mine\n")
    (tmp_path / "mine.py").write_text("BOT_NAME = 'mine'\n")  # a project that knows nothing of newsbot
    assert run(tmp_path, "why", "https://a.example/1").code == 0


def test_init_makes_rules_from_opml_and_lists_and_keeps_files(tmp_path):
    (tmp_path / "list.opml").write_text(OPML)
    assert run(tmp_path, "init", ".", "--sites", "list.opml").code == 0
    own = "domain: fen.example\ndelay: 9\n"
    (tmp_path / "rules" / "fen.example.yaml").write_text(own)
    (tmp_path / "settings.py").write_text("from newsbot.settings import *\n")
    text = "# towns\nfen.example\nmarsh.example\nhttps://www.wold.example/rss.xml\nhttps://down.example/town/\nhill\n"
    again = run(tmp_path, "init", "--sites", "-", "--json", text=text)
    assert again.code == 1
    assert again.json == {
        "folder": str(tmp_path),
        "files": [],
        "rules": ["down.example.yaml", "marsh.example.yaml", "wold.example.yaml"],
        "left_out": ["hill: is not an address"],
    }
    rules = load_rules(tmp_path / "rules")
    assert (tmp_path / "rules" / "fen.example.yaml").read_text() == own
    assert rules.for_url("https://wold.example/").feeds == ("https://www.wold.example/rss.xml",)
    assert rules.for_url("https://down.example/").seeds == ("https://down.example/town/",)
    assert (tmp_path / "rules" / "marsh.example.yaml").read_text() == "domain: marsh.example\n"
    (tmp_path / "empty.txt").write_text("# nothing\n")
    for name in ("empty.txt", "absent.txt"):
        wrong = run(tmp_path, "init", "--sites", name)
        assert (wrong.code, wrong.err.count("\n")) == (2, 1)
        assert name in wrong.err


def test_init_copies_the_sites_that_newsbot_brings_along(tmp_path):
    shipped = {path.name for path in (ROOT / "rules").glob("*.yaml")} - {"_defaults.yaml"}
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "lenta.ru.yaml").write_text("domain: lenta.ru\ndelay: 9\n")
    made = run(tmp_path, "init", ".", "--sites", "starter", "--json")
    assert set(made.json["rules"]) == shipped - {"lenta.ru.yaml"}
    assert len(load_rules(tmp_path / "rules")) == len(shipped)
    assert (tmp_path / "rules" / "lenta.ru.yaml").read_text() == "domain: lenta.ru\ndelay: 9\n"  # kept


ZSH = "autoload -Uz compinit bashcompinit && compinit -D && bashcompinit; setopt ksharrays"


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["sou"], ["sources"]),
        (["articles", "ex"], ["export"]),
        (["articles", "export", "--exc"], ["--excel"]),
        (["crawl", "news", "-a", "max_"], ["max_articles=", "max_articles_per_site="]),
        (["rules", "import", "opml", "--in"], ["--into"]),
        (["why", "--js"], ["--json"]),
    ],
)
def test_a_shell_completes_commands_options_and_arguments(shell, typed, expected, tmp_path_factory):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = run(tmp_path_factory.mktemp("shell"), "completion", shell).out
    words = " ".join(["newsbot", *typed])
    ask = f'COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _newsbot; echo "${{COMPREPLY[@]}}"'
    script = script.replace(FOR_ZSH, ZSH + "\n")  # an interactive shell has these settings
    done = subprocess.run([program, "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
    found = done.stdout.split()
    assert (
        found == expected if shell == "bash" else set(expected) <= set(found)
    )  # zsh itself filters the words
    assert not done.stderr


def test_a_crawl_takes_sites_in_place_of_arguments(tmp_path):
    from newsbot.crawl.scope import arguments_for

    (tmp_path / "fen.example.yaml").write_text("domain: fen.example\n")
    rules = load_rules(tmp_path)
    assert arguments_for(rules, ["fen.example", "wold.example", "https://fen.example/7,8"]) == {
        "sites": ["fen.example"],
        "urls": ["wold.example", "https://fen.example/7,8"],
    }
    wrong = run(tmp_path, "crawl", "fen.example", "-a", "sites=fen.example", NEWSBOT_RULES=str(tmp_path))
    assert wrong.code == 2
    assert "give sites either as words or with -a sites=" in wrong.err
