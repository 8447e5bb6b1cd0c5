"""A real scrapyd on loopback with the shipped configuration; projects are deployed by scrapyd-deploy."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

from testbed.servers import free_port

ROOT = Path(__file__).resolve().parent.parent
USER, PASSWORD = "newsbot", "tests only"
SHIPPED = ("newsbot", "rules")
START_TIMEOUT = 90.0


def copy_project(folder: Path, url: str) -> Path:
    """Copy the project's own files, because a build leaves files there. Configure deployment to ``url``."""
    for name in SHIPPED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for path in ROOT.glob("requirements*.txt"):
        shutil.copy(path, folder)
    config = (ROOT / "scrapy.cfg").read_text(encoding="utf8")
    assert "http://127.0.0.1:6800/" in config
    (folder / "scrapy.cfg").write_text(config.replace("http://127.0.0.1:6800/", url), encoding="utf8")
    return folder


def scrapyd_deploy(project: Path, environment: Mapping[str, str], *arguments: str) -> str:
    """Run ``scrapyd-deploy`` in a project's folder and return its output."""
    done = subprocess.run(
        [str(Path(sys.executable).parent / "scrapyd-deploy"), *arguments],
        cwd=project,
        env={**environment, "no_proxy": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wait_for(what: Callable[[], Any], text: str) -> Any:
    """Return the first true result of ``what``."""
    end = time.monotonic() + START_TIMEOUT
    while not (answer := what()):
        assert time.monotonic() < end, text
        time.sleep(0.05)
    return answer


class ScrapydServer:
    """scrapyd in a folder of its own; its jobs also get ``environment``."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self.environment = {
            **environment,
            "SCRAPYD_HTTP_PORT": str(self.port),
            "SCRAPYD_USERNAME": USER,
            "SCRAPYD_PASSWORD": PASSWORD,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._open = build_opener(ProxyHandler({})).open

    def start(self) -> None:
        """Start scrapyd and wait until it answers."""
        self.folder.mkdir(exist_ok=True)
        config = (ROOT / "deploy/scrapyd.conf").read_text(encoding="utf8")
        for waiting in ("poll_interval    = 5.0", "max_proc         = 0"):
            assert waiting in config
        config = config.replace("poll_interval    = 5.0", "poll_interval = 0.2")
        config = config.replace("max_proc         = 0", "max_proc = 3")
        (self.folder / "scrapyd.conf").write_text(config, encoding="utf8")
        with (self.folder / "scrapyd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "scrapyd"],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_for(self._answers, "scrapyd does not start")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.output
        try:
            return bool(self.ask("daemonstatus.json")["status"] == "ok")
        except OSError:
            return False

    def stop(self) -> None:
        """Stop scrapyd. Its jobs must have ended before; otherwise they keep running."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)

    def processes(self) -> list[int]:
        """Return the ids of the processes of scrapyd and of its jobs (Linux)."""
        assert self._process is not None
        own = self._process.pid
        children = Path(f"/proc/{own}/task/{own}/children").read_text(encoding="ascii")
        return [own, *map(int, children.split())]

    @property
    def output(self) -> str:
        """scrapyd's own log."""
        return (self.folder / "scrapyd.log").read_text(encoding="utf8")

    def ask(self, page: str, data: list[tuple[str, str]] | None = None, **query: str) -> dict[str, Any]:
        """Call a page of scrapyd's API; with ``data`` by POST."""
        address = self.url + page + (f"?{urlencode(query)}" if query else "")
        token = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        body = urlencode(data).encode() if data is not None else None
        with self._open(Request(address, body, {"Authorization": f"Basic {token}"}), timeout=60) as answer:
            document: dict[str, Any] = json.load(answer)
        return document

    def open_without_password(self) -> None:
        """Send a request without a password."""
        self._open(self.url + "daemonstatus.json", timeout=60).close()

    def schedule(self, *settings: str, **arguments: str) -> str:
        """Schedule a job of the spider ``news`` and return its id."""
        data = [("project", "newsbot"), ("spider", "news"), *(("setting", one) for one in settings)]
        answer = self.ask("schedule.json", data + list(arguments.items()))
        assert answer["status"] == "ok", answer
        return str(answer["jobid"])

    def state(self, job: str) -> str:
        """Return ``pending``, ``running``, ``finished`` or an empty string."""
        jobs = self.ask("listjobs.json", project="newsbot")
        states = ("pending", "running", "finished")
        return next((state for state in states if job in [one["id"] for one in jobs[state]]), "")

    def finish(self, job: str) -> str:
        """Wait until a job has finished and return its log."""
        wait_for(lambda: self.state(job) == "finished", f"job {job} does not end: {self.output[-2000:]}")
        return self.log(job)

    def log(self, job: str) -> str:
        """Return the log of a job so far."""
        path = self.folder / "logs/newsbot/news" / f"{job}.log"
        return path.read_text(encoding="utf8") if path.exists() else ""
