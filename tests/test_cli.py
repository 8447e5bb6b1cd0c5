"""The base of the commands: results, errors and exit codes."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

import newsbot.cli.command
from newsbot.cli.command import (
    Action,
    Argument,
    Call,
    NewsbotCommand,
    choose,
    moment,
    one_of,
    positive,
)
from newsbot.cli.terminal import Column
from newsbot.config.apps import known_apps
from newsbot.errors import ArgumentError, DataError, Problem, RulesError, did_you_mean

ROOT = Path(__file__).resolve().parent.parent


def greet(call: Call) -> int | None:
    name = call.options.name
    if name == "fault":
        raise DataError("newsbot.db: is damaged")
    if name == "faults":
        raise RulesError([Problem("a.yaml", 3, "title", "wrong"), Problem("b.yaml", 1, "", "empty")])
    if name == "wrong":
        raise ArgumentError("one fault\nanother fault")
    if name == "stop":
        raise KeyboardInterrupt
    if name == "seven":
        return 7
    if call.json:
        call.document({"name": name, "limit": call.options.limit})
    else:
        call.table((Column("name"), Column("limit", "right")), [(name, call.options.limit)])
    call.note("greeted")
    return None


class Hello(NewsbotCommand):
    app = known_apps()["operations"]
    summary = "Say hello"
    actions = (
        Action(
            "greet",
            "Greet somebody",
            greet,
            Argument("name"),
            Argument("--limit", type=positive, default=3),
            Argument("--format", type=one_of("jsonl", "csv")),
        ),
        Action("import ftr", "Import rules", greet, Argument("name")),
    )

    @property
    def name(self) -> str:
        return "hello"


@dataclass
class Answer:
    code: int | None
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command in this process, as scrapy.cmdline.execute does."""
    monkeypatch.setattr(newsbot.cli.command, "configure_logging", lambda settings: None)

    def run_command(*words: str) -> Answer:
        command = Hello()
        command.settings = Settings()
        parser = argparse.ArgumentParser(conflict_handler="resolve")
        command.add_options(parser)
        try:
            options, rest = parser.parse_known_args(list(words))
            command.process_options(rest, options)
            command.run(rest, options)
        except SystemExit as end:
            command.exitcode = end.code  # type: ignore[assignment]
        return Answer(command.exitcode, *capsys.readouterr())

    return run_command


def test_tables_mask_secrets_of_urls_and_json_does_not(run: Any) -> None:
    url = "https://user:geheim@news.test/feed?api_key=geheim"
    assert "geheim" not in run("greet", url).out
    assert json.loads(run("greet", url, "--json").out)["name"] == url


def test_a_pipe_gets_one_plain_line_per_row(run: Any) -> None:
    answer = run("greet", "Вася", "--limit", "12345")
    assert answer == Answer(0, "name  limit\nВася  12345\n", "greeted\n")


def test_only_json_is_on_stdout(run: Any) -> None:
    for words in (("greet", "x", "--json"), ("--json", "greet", "x")):
        answer = run(*words)
        assert json.loads(answer.out) == {"name": "x", "limit": 3}
        assert answer.err == "greeted\n"


def test_an_action_returns_the_exit_code(run: Any) -> None:
    assert run("greet", "seven").code == 7


def test_a_name_of_two_words(run: Any) -> None:
    assert run("import", "ftr", "seven").code == 7
    assert run("import", "seven").code == 2


@pytest.mark.parametrize(
    ("name", "code", "lines"),
    [
        ("fault", 1, ["newsbot.db: is damaged"]),
        ("faults", 1, ["a.yaml:3: title: wrong", "b.yaml:1: empty"]),
        ("wrong", 2, ["scrapy hello: one fault", "scrapy hello: another fault"]),
        ("stop", 130, ["interrupted"]),
    ],
)
def test_faults_are_lines_on_stderr(run: Any, name: str, code: int, lines: list[str]) -> None:
    answer = run("greet", name)
    assert (answer.code, answer.out, answer.err.splitlines()) == (code, "", lines)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ((), ["a subcommand is needed", "greet, import ftr"]),
        (("--limit", "3", "greet"), ["a subcommand is needed"]),
        (("gret", "x"), ["'gret'", "did you mean 'greet'?", "allowed: greet, import ftr"]),
        (("greet",), ["required: name", "usage: scrapy hello greet"]),
        (("greet", "x", "y"), ["'y'", "quote"]),
        (("greet", "x", "--limt", "3"), ["--limt", "did you mean '--limit'?"]),
        (("greet", "x", "--lim", "3"), ["unknown option --lim"]),
        (("greet", "x", "--limit", "0"), ["--limit: '0' is not a whole number above 0"]),
        (("greet", "x", "--limit"), ["--limit: expected one argument"]),
        (("greet", "x", "--format", "jsnl"), ["did you mean 'jsonl'?", "allowed: jsonl, csv"]),
        (("greet", "x", "-s"), ["-s/--set: expected one argument"]),
    ],
)
def test_wrong_usage_is_one_line_that_says_what_is_allowed(
    run: Any, words: tuple[str, ...], parts: list[str]
) -> None:
    answer = run(*words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("scrapy hello: ")
    for part in parts:
        assert part in answer.err


def test_arguments_that_start_with_a_dash_follow_two_dashes(run: Any) -> None:
    assert "-x" in run("greet", "--", "-x").out


def test_help_of_one_action_and_of_all(run: Any) -> None:
    assert "Greet somebody" in run("greet", "-h").out
    assert "Import rules" not in run("greet", "--help").out
    everything = run("-h")
    assert everything.code == 0
    assert "Greet somebody" in everything.out
    assert "Import rules" in everything.out


def test_the_longest_name_wins() -> None:
    actions = [Action(name, "", greet) for name in ("import", "import ftr", "")]
    assert choose(actions, ["import", "ftr", "x"])[0].name == "import ftr"
    assert choose(actions, ["import", "x"]) == (actions[0], ["x"])
    assert choose(actions, ["x"]) == (actions[2], ["x"])
    assert choose(actions, []) == (actions[2], [])


def test_names_are_suggested() -> None:
    assert did_you_mean("serch", ["search", "show"]) == " (did you mean 'search'?)"
    assert did_you_mean("qqq", ["search"]) == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-05-31", datetime(2024, 5, 31, tzinfo=UTC)),
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-05", datetime(2024, 5, 1, tzinfo=UTC)),
        ("20240531", datetime(2024, 5, 31, tzinfo=UTC)),
        ("2024-05-31T08:00+03:00", datetime(2024, 5, 31, 5, tzinfo=UTC)),
        ("2024-05-31T08:00:00Z", datetime(2024, 5, 31, 8, tzinfo=UTC)),
    ],
)
def test_dates(text: str, value: datetime) -> None:
    assert moment(text) == value


def test_ages() -> None:
    assert abs(moment("7d") - (datetime.now(UTC) - timedelta(days=7))) < timedelta(minutes=1)


@pytest.mark.parametrize("text", ["", "7", "2024-13", "31.05.2024", "9999999999d", "0001-01-01T00:00+14:00"])
def test_invalid_dates(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="write for example"):
        moment(text)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "٣", "9" * 400, "x"])
def test_invalid_amounts(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        positive(text)


# --- as a program

COMMAND = """
import logging
from newsbot.cli.command import Action, Argument, Call, NewsbotCommand
from newsbot.config.apps import known_apps

def many(call):
    logging.getLogger("x").info("chatter")
    logging.getLogger("x").warning("worth a look")
    for number in range(call.options.count):
        call.record({"number": number, "name": "Вася \\ud83d\\ude00"})

def sleep(call):
    import time
    print("ready", flush=True)
    time.sleep(60)

class Command(NewsbotCommand):
    app = known_apps()["operations"]
    summary = "Count"
    actions = (
        Action("many", "Count", many, Argument("count", type=int)),
        Action("sleep", "Sleep", sleep),
    )
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    package = tmp_path / "project" / "commands"
    package.mkdir(parents=True)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = project.settings\n")
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package.parent / "settings.py").write_text(
        "BOT_NAME = 'x'\nCOMMANDS_MODULE = 'project.commands'\nLOG_LEVEL = 'DEBUG'\n"
    )
    (package / "numbers.py").write_text(COMMAND.replace("\\ud83d\\ude00", "😀"), encoding="utf-8")
    return tmp_path


def _hear_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(project: Path, *words: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "scrapy", "numbers", *words],
        cwd=project,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{project}", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_hear_ctrl_c,  # noqa: PLW1509  (shells disable Ctrl-C in the background)
    )


def test_scrapy_finds_the_command_and_keeps_quiet(project: Path) -> None:
    out, err = start(project, "many", "2").communicate()
    assert [json.loads(line)["number"] for line in out.decode().splitlines()] == [0, 1]
    assert "worth a look" in err.decode()
    assert "chatter" not in err.decode()


def test_the_log_level_can_be_set(project: Path) -> None:
    _, err = start(project, "many", "1", "-L", "INFO").communicate()
    assert "chatter" in err.decode()


def test_json_survives_a_locale_without_unicode(project: Path) -> None:
    out, _ = start(project, "many", "1", PYTHONIOENCODING="ascii").communicate()
    assert json.loads(out)["name"] == "Вася 😀"


def test_a_closed_pipe_is_not_a_fault(project: Path) -> None:
    process = start(project, "many", "100000")
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read().decode()
        assert process.wait() == 0
    assert "Traceback" not in err
    assert "BrokenPipe" not in err


def test_ctrl_c_ends_without_a_traceback(project: Path) -> None:
    process = start(project, "sleep")
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err == b"interrupted\n"
