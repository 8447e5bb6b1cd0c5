"""Warm starts of newsbot's programs: separate processes that share the cost of imports.

``python -m scrapy ...`` spends two seconds of processor time on imports, and tests start it hundreds of
times. :class:`Popen` asks a server process that has imported everything (:mod:`tests.warmth`, one for each
pytest process and program) to fork. The new process has the requested arguments, environment, folder and
streams. It is a child of the test, so waiting for it and killing it work as usual. It runs its module as
``__main__`` until the interpreter ends.

:func:`install` makes it the class that :mod:`subprocess` and :mod:`asyncio` use in this process, so that the
programs that newsbot itself starts (``newsbot.crawl()``) have a warm start, too.

Other programs have a cold start, as with :mod:`subprocess`: programs other than this Python with ``-m``,
programs with other values of variables that Python reads at its start (``PYTHONHASHSEED``), programs whose
``PYTHONPATH`` has another newsbot or apps, and all programs on systems other than Linux.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path
from threading import Lock
from typing import Any, AnyStr

ROOT = Path(__file__).resolve().parent.parent
_RESOURCE_WARNINGS = ["-W", "error::ResourceWarning"]
_LOCK = Lock()
"""Protects the server: one start at a time, because adoption affects the whole process."""
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_READ_AT_START = ("PYTHON", "LC_", "LANG", "MALLOC_", "LD_", "NEWSBOT_APPS")
_SET_LATER = ("PYTHONPATH", "PYTHONUNBUFFERED")
"""Variables whose effect :mod:`tests.warmth` can produce after the fork."""


_PROGRAMS = {"newsbot": "newsbot"}
"""Modules that are run, and the names of their programs, which newsbot's messages use; others are scrapy."""
Cold = subprocess.Popen
"""Python's own class."""


class Popen(Cold[AnyStr]):
    """A ``subprocess.Popen`` that uses a warm start if the result is the same."""

    def _execute_child(self, *arguments: Any) -> None:
        """Start the process and close the child's ends of the pipes; see ``subprocess.Popen``."""
        options = dict(zip(_ARGUMENTS, arguments, strict=True))
        module = _module_of(options)
        if module is None:
            super()._execute_child(*arguments)  # type: ignore[misc]
            return
        streams = [options["p2cread"], options["c2pwrite"], options["errwrite"]]
        request = {
            **module,
            "folder": os.fspath(options["cwd"] or Path.cwd()),
            "environment": dict(os.environ if options["env"] is None else options["env"]),
        }
        descriptors = [number if fd == -1 else fd for number, fd in enumerate(streams)]
        with _LOCK:
            self.pid = _server(_PROGRAMS.get(module["module"], "scrapy")).start(request, descriptors)
        self._child_created = True
        self._close_pipe_fds(*(options[name] for name in _PIPES))  # type: ignore[attr-defined]


_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_COLD = ("executable", "preexec_fn", "pass_fds", "shell", "start_new_session")
"""Arguments that require a cold start."""
_ARGUMENTS = (
    *("args", "executable", "preexec_fn", "close_fds", "pass_fds", "cwd", "env", "startupinfo"),
    *("creationflags", "shell", *_PIPES, "restore_signals", "gid", "gids", "uid", "umask"),
    *("start_new_session", "process_group"),
)
"""Parameters of ``_execute_child`` in Python 3.11 to 3.14."""


def install() -> None:
    """Give a warm start to all programs that this process starts from now on."""
    subprocess.Popen = Popen  # type: ignore[misc]


def run(command: Sequence[str], *, timeout: float = 120, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and return its output as text; it is killed after ``timeout`` seconds."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    with Popen[str](command, text=True, **options) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def context() -> ForkServerContext:
    """Return a context for running a test's functions in processes, like "spawn", but with a warm start.

    All processes have the environment that was set when the first one started.
    """
    chosen = multiprocessing.get_context("forkserver")
    chosen.set_forkserver_preload(["pytest", "hypothesis", "newsbot.backends", "newsbot.apps.mongodb"])
    return chosen


def _module_of(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the server needs to know about the program, None if it needs a cold start."""
    program, *words = map(os.fspath, options["args"])
    warns = words[:2] == _RESOURCE_WARNINGS
    if warns:
        words = words[2:]
    plain = not any(options[name] for name in _COLD)
    if program != sys.executable or words[:1] != ["-m"] or not plain or sys.platform != "linux":
        return None
    environment = os.environ if options["env"] is None else options["env"]
    if _at_start(environment) != _at_start(os.environ) or _has_other_packages(environment):
        return None
    return {"module": words[1], "arguments": words[2:], "warns": warns}


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_AT_START) and name not in _SET_LATER
    }


def _has_other_packages(environment: Mapping[str, str]) -> bool:
    """Return True if PYTHONPATH has another newsbot or installed apps, or if it has a file (an egg)."""
    folders = [Path(one) for one in environment.get("PYTHONPATH", "").split(os.pathsep) if one]
    others = [one for one in folders if one != ROOT]
    return any(not one.is_dir() or (one / "newsbot").exists() or any(one.glob("*-info")) for one in others)


class _Server:
    """The process that forks."""

    def __init__(self, program: str) -> None:
        here, there = socket.socketpair()
        self._socket = here
        with there:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.warmth", str(there.fileno()), program],
                cwd=ROOT,
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def start(self, request: Mapping[str, Any], streams: Sequence[int]) -> int:
        """Start a program and return its process id; it is a child of this process."""
        data = json.dumps(request).encode()
        _adopt(True)
        try:
            socket.send_fds(self._socket, [len(data).to_bytes(4, "big")], streams)
            self._socket.sendall(data)
            answer = self._socket.recv(4)
        finally:
            _adopt(False)
        if len(answer) != 4:
            raise RuntimeError("the process that starts programs is gone")
        return int.from_bytes(answer, "big")

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


def _adopt(wanted: bool) -> None:
    """Start or stop adopting grandchildren whose parent ends."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


@cache
def _server(program: str) -> _Server:
    server = _Server(program)
    atexit.register(server.close)
    return server
