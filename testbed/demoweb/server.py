"""The demo's server: ``python -m testbed.demoweb.server --rules DIR [--port 0] [--log FILE] …``.

Prints one JSON line with the port, the folder of the rules, the path of the manifest and the environment that
a crawl needs. Then it serves requests until it is interrupted or terminated.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import threading
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from newsbot.apps.demo.server import Manifest, ServedRequest
from newsbot.clock import from_iso
from testbed.demoweb.manifest import make_manifest
from testbed.demoweb.plan import MAX_ARTICLES, MIN_ARTICLES, make_plan
from testbed.demoweb.rulefiles import write_rules
from testbed.demoweb.web import DemoWeb
from testbed.loopback import Listener, LoopbackServer

MANIFEST_FILE = "manifest.json"
DEFAULT_ARTICLES = 300


class DemoServer(LoopbackServer):
    """The demo on loopback. The rules and the manifest are in ``folder`` after construction."""

    def __init__(
        self,
        folder: Path,
        *,
        articles: int = DEFAULT_ARTICLES,
        seed: int = 1,
        now: datetime | None = None,
        port: int = 0,
        log: TextIO | None = None,
    ) -> None:
        plan = make_plan(articles, seed=seed, now=now or this_hour())
        self.rules = folder
        self.manifest: Manifest = make_manifest(plan)
        self.manifest_path = folder / MANIFEST_FILE
        write_rules(folder)
        self.manifest.save(self.manifest_path)
        super().__init__(DemoWeb(plan), port=port, listener=None if log is None else _writer(log))

    @property
    def crawl_environment(self) -> dict[str, str]:
        """Environment variables for a crawl of the demo. The caller chooses NEWSBOT_DATA."""
        return {**self.environment, "NEWSBOT_RULES": str(self.rules)}


def this_hour() -> datetime:
    """Return the start of the current hour. The demo's articles are from the two days before this time."""
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def read_log(path: Path) -> list[ServedRequest]:
    """Read the records that a server wrote to its log file."""
    with path.open(encoding="utf-8") as file:
        return [ServedRequest(**json.loads(line)) for line in file]


def _writer(log: TextIO) -> Listener:
    def write(record: ServedRequest) -> None:
        log.write(json.dumps(asdict(record)) + "\n")

    return write


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted or terminated."""
    options = _parser().parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with contextlib.ExitStack() as stack:
        log = (
            stack.enter_context(options.log.open("a", buffering=1, encoding="utf-8")) if options.log else None
        )
        server = DemoServer(
            options.rules,
            articles=options.articles,
            seed=options.seed,
            now=options.now,
            port=options.port,
            log=log,
        )
        try:
            stack.enter_context(server)
        except OSError as error:
            sys.stderr.write(f"port {options.port}: {error.strerror}\n")
            return 1
        sys.stdout.write(json.dumps(_description(server)) + "\n")
        sys.stdout.flush()
        stop.wait()
    return 0


def _description(server: DemoServer) -> dict[str, object]:
    return {
        "port": server.port,
        "rules": str(server.rules),
        "manifest": str(server.manifest_path),
        "now": server.manifest.now,
        "environment": server.crawl_environment,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m testbed.demoweb.server", allow_abbrev=False)
    parser.add_argument("--rules", type=Path, required=True, help="folder for the rules and the manifest")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--log", type=Path, help="file for the log, one JSON line per request")
    parser.add_argument(
        "--articles", type=int, default=DEFAULT_ARTICLES, help=f"{MIN_ARTICLES} to {MAX_ARTICLES}"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--now", type=from_iso, help="the current time of the demo, e.g. 2026-11-21T08:00:00Z"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
