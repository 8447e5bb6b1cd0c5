"""Servers that sinks write to, each started by a test: PostgreSQL, RabbitMQ, an object store, an HTTP
receiver."""

from __future__ import annotations

import http.server
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from testbed.servers import free_port


def _need(what: str, package: str, *, here: bool) -> None:
    if not here:
        if os.environ.get("CI"):
            pytest.fail(f"{what} is missing in CI")
        pytest.skip(f"needs {what}: apt-get install {package}")


class Postgres:
    """One PostgreSQL server in a folder of the test."""

    def __init__(self, folder: Path) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        _need("PostgreSQL", "postgresql", here=bool(found))
        self._bin, self.port = found[-1].parent, free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="newsbot-pg-", dir=folder if os.geteuid() else None))
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            # The server refuses to run as root. Its user cannot enter the folders of pytest.
            user = pwd.getpwnam("postgres")
            os.chown(self._folder, user.pw_uid, user.pw_gid)
            self._as = {"user": user.pw_uid, "group": user.pw_gid}
        self._run("initdb", "-D", str(self._folder), "-U", "news", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    @property
    def uri(self) -> str:
        return f"postgresql://news@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        self._run("pg_ctl", "-D", str(self._folder), "-w", "-o", options, "-l", "/dev/null", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self._folder), "-m", "immediate", "stop", check=False)

    def remove(self) -> None:
        """Stop the server, and delete its data."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *words: str, check: bool = True) -> None:
        subprocess.run(
            [str(self._bin / program), *words],
            check=check,
            capture_output=True,
            timeout=60,
            cwd="/",
            **self._as,
        )


@contextmanager
def rabbit(folder: Path) -> Iterator[str]:
    """Run a RabbitMQ server; yield its address."""
    program = shutil.which("rabbitmq-server", path=f"{os.environ['PATH']}:/usr/sbin:/usr/lib/rabbitmq/bin")
    _need("RabbitMQ", "rabbitmq-server", here=program is not None)
    assert program is not None
    port, place = free_port(), Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
    environment = {
        **os.environ,
        "HOME": str(folder),
        "RABBITMQ_NODENAME": f"news{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_PID_FILE": str(folder / "pid"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_CONFIG_FILE": str(folder / "none"),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
    words = [str(place)] if place.exists() else [program]
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        pika = pytest.importorskip("pika")
        address = f"amqp://guest:guest@127.0.0.1:{port}/%2F"
        for _ in range(300):
            try:
                pika.BlockingConnection(pika.URLParameters(address)).close()
                break
            except (pika.exceptions.AMQPError, OSError):
                assert process.poll() is None
                time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def object_store(folder: Path) -> Iterator[str]:
    """Run an S3-compatible server; yield its endpoint."""
    port = free_port()
    with (folder / "moto.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log
        )
        try:
            import urllib.request

            for _ in range(300):
                try:
                    request = urllib.request.Request(f"http://127.0.0.1:{port}/news", method="PUT")
                    urllib.request.urlopen(request, timeout=5).close()
                    break
                except OSError:
                    assert process.poll() is None
                    time.sleep(0.1)
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


class Receiver:
    """An HTTP server that keeps the requests it gets. ``answer`` decides the status and the body."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str, dict[str, str], bytes]] = []
        self.answer = lambda _method, _path, _body: (200, b"{}")
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def _handle(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.got.append((self.command, self.path, headers, body))
                status, answer = receiver.answer(self.command, self.path, body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer)

            do_GET = do_POST = do_PUT = do_HEAD = _handle  # noqa: N815  (names of http.server)

            def log_message(self, *_given: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.place = f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class SearchEngine(Receiver):
    """Answers the requests of the sink as the bulk API of OpenSearch documents it."""

    def __init__(self) -> None:
        super().__init__()
        self.documents: dict[str, dict[str, Any]] = {}
        self.versions: dict[str, int] = {}
        self.made = False
        self.answer = self._answer

    def _answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if path.startswith("/_mget"):
            keys = [one["_id"] for one in json.loads(body)["docs"]]
            found = [{"_id": key, "found": key in self.documents} for key in keys]
            times = {key: one["fetched_at"] for key, one in self.documents.items() if "fetched_at" in one}
            for one in found:
                if one["_id"] in times:
                    one["_source"] = {"fetched_at": times[one["_id"]]}
            return 200, json.dumps({"docs": found}).encode()
        if path != "/_bulk":
            known, self.made = self.made, self.made or method == "PUT"
            return (200 if known or method == "PUT" else 404), b"{}"
        items, lines = [], iter(body.decode().splitlines())
        for line in lines:
            ((action, place),) = json.loads(line).items()
            key, status = place["_id"], 200
            if action == "delete":
                status = 200 if self.documents.pop(key, None) else 404
                self.versions[key] = self.versions.get(key, 0) + 1  # kept for a minute
            else:
                document = json.loads(next(lines))
                version = place.get("version", self.versions.get(key, 0) + 1)
                assert "version" not in place or place["version_type"] == "external_gte"
                if version < self.versions.get(key, 0):
                    status = 409
                elif "poison" in str(document.get("title")):
                    status = 400
                else:
                    self.documents[key], self.versions[key] = document, version
            error = {} if status < 300 else {"error": {"type": "mapper_parsing_exception", "reason": "no"}}
            items.append({action: {"_id": key, "status": status, **error}})
        errors = any(one["status"] >= 300 for item in items for one in item.values())
        return 200, json.dumps({"errors": errors, "items": items}).encode()
