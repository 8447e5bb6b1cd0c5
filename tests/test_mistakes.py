"""User errors on the command line: one line describes the error, and the exit code is not 0."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def scrapy(*words: str, **environment: str) -> tuple[int, list[str]]:
    """Run a command; return its exit code and the lines on stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize(
    ("word", "meant"),
    [("sorces", "(did you mean 'sources'?)"), ("crwal", "(did you mean 'crawl'?)"), ("x", "")],
)
def test_a_command_that_does_not_exist(word: str, meant: str) -> None:
    code, (line,) = scrapy(word)
    assert code == 2
    assert (
        line == f"scrapy: unknown command '{word}'{' ' * bool(meant)}{meant}; run scrapy to see all commands"
    )


def test_an_argument_without_a_value() -> None:
    assert scrapy("crawl", "news", "-a", "now") == (2, ["scrapy crawl: Invalid -a value, use -a NAME=VALUE"])


@pytest.mark.parametrize("words", [["sources"], ["crawl", "news"], ["workers", "1"]])
def test_a_log_file_that_cannot_be_written(words: list[str], tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "x.log"
    code, (line,) = scrapy(*words, "--logfile", str(path))
    assert code == 2
    reason = f"the log file {path} cannot be written (No such file or directory)"
    assert line == f"scrapy {words[0]}: {reason}"


@pytest.mark.parametrize("words", [["crawl", "news"], ["workers", "1"], ["serve", "--port", "0"]])
def test_a_data_folder_that_cannot_be_created(words: list[str], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    code, (line,) = scrapy(*words, NEWSBOT_DATA=str(file / "data"))
    assert code == 1
    assert line.startswith(f"{file}/data: cannot be created (Not a directory); set NEWSBOT_DATA")


def test_a_data_folder_that_does_not_exist(tmp_path: Path) -> None:
    code, (line,) = scrapy("sources", NEWSBOT_DATA=str(tmp_path / "data"))
    assert code == 1
    assert "no crawl has run yet; run: scrapy crawl news" in line
    assert not (tmp_path / "data").exists()


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        code, (line,) = scrapy("serve", "--port", str(port), NEWSBOT_DATA=str(tmp_path))
    assert code == 1
    taken = "the port is taken; is scrapy serve running already?"
    assert line == f"cannot listen on 127.0.0.1:{port}: {taken} (options: --host, --port)"
