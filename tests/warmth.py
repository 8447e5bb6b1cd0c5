"""The process that :mod:`tests.warm` forks: it imports the modules of the programs, then waits."""

from __future__ import annotations

import atexit
import gc
import importlib.metadata
import io
import json
import os
import pkgutil
import random
import runpy
import socket
import sys
import threading
import time
import warnings
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

PACKAGES = (
    "newsbot",
    "scrapy.commands",
    "scrapy.core",
    "scrapy.downloadermiddlewares",
    "scrapy.extensions",
    "scrapy.spidermiddlewares",
)
LEFT = (
    "newsbot.apps.documents.pdf",
    *("newsbot.settings", "newsbot.apps.simulator"),
    *("scrapy.core._http2", "scrapy.core.downloader.handlers.http2"),
)
"""Not imported before the fork: modules that read the environment at import, slow modules, modules of extras,
and HTTP/2, whose package ``h2`` newsbot does not need."""


PAGE = (
    b"<html lang=en><title>Council talks about the bridge</title>"
    b"<article><h1>Council talks about the bridge</h1>"
    b"<p class=byline>By Ann Lee</p><time>20 November 2026, 8:00</time>"
    + b"<p>The council met in the old town hall and talked about the bridge over the river for hours.</p>"
    * 9
)
"""Reading a first page compiles the expressions of all languages, which takes half a second."""


def _folders(environment: Mapping[str, str]) -> list[str]:
    """Return the folders that PYTHONPATH adds to ``sys.path``."""
    path = environment.get("PYTHONPATH")
    return [str(Path(one).absolute()) for one in path.split(os.pathsep)] if path else []


PATH = _folders(os.environ)


def import_all(package: str) -> None:
    """Import a package with all its modules."""
    import_module(package)
    for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        if not module.name.startswith(LEFT) and "__main__" not in module.name:
            import_module(module.name)


def serve(connection: socket.socket) -> dict[str, Any] | None:
    """Fork at each request. Returns None at the end of the server, and the request in each fork."""
    while True:
        size, streams, _, _ = socket.recv_fds(connection, 4, 3)
        if not size:
            return None
        request = json.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
        reading, writing = os.pipe()
        with warnings.catch_warnings():  # since Python 3.12, a fork of a process with threads causes one
            warnings.simplefilter("ignore", DeprecationWarning)
            between = os.fork()
        if between == 0:
            parent = os.getpid()
            if child := os.fork():  # this parent ends now, so the fork becomes a child of the test
                os.write(writing, child.to_bytes(4, "big"))
                os._exit(0)
            while os.getppid() == parent:
                time.sleep(0.001)
            for fd in (reading, writing):
                os.close(fd)
            for number, fd in enumerate(streams):
                os.dup2(fd, number)
                os.close(fd)
            return dict(request)
        os.waitpid(between, 0)
        connection.sendall(os.read(reading, 4))
        for fd in (reading, writing, *streams):
            os.close(fd)


def become(request: dict[str, Any]) -> None:
    """Set up the process as the requested program."""
    for name, module in list(sys.modules.items()):  # other packages put other objects there
        for value in vars(module).values() if name.startswith("newsbot") else ():
            if type(value) is random.Random:  # two programs must not draw the same random numbers
                value.seed()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    _renew_streams()
    if request["warns"]:
        warnings.simplefilter("error", ResourceWarning)
    sys.path[:] = [request["folder"], *_folders(os.environ), *sys.path[1 + len(PATH) :]]
    sys.argv = ["", *request["arguments"]]
    if not hasattr(sys.modules.get(request["module"]), "__path__"):
        sys.modules.pop(request["module"], None)  # for a package, the module to run is its __main__
    try:
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    else:
        code = 0
    leave(code)


def leave(code: object) -> NoReturn:
    """End the process as the interpreter does, without freeing all objects.

    Freeing them would copy the memory that the process shares with its server, which takes 0.2 s of CPU.
    """
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # reports files that are still open
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except OSError:
        sys.exit(code)  # the interpreter reports it
    os._exit((code or 0) & 0xFF)


def _renew_streams() -> None:
    """Open the standard streams as Python does at its start: the old ones use the server's files."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        at_once = number > 0 and bool(os.environ.get("PYTHONUNBUFFERED"))
        new = io.TextIOWrapper(
            open(number, "wb" if number else "rb", buffering=0 if at_once else -1, closefd=False),  # noqa: SIM115
            encoding=old.encoding,
            errors=old.errors,
            newline="\n",
            line_buffering=number == 2 or os.isatty(number),
            write_through=at_once,
        )
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _find_commands_and_apps() -> None:
    """Fill the caches of the search for commands, apps and spiders.

    ``newsbot.settings`` reads the environment, so each program imports it again.
    """
    path, environment = sys.path[:], dict(os.environ)
    settings = import_module("scrapy.utils.project").get_project_settings()
    import_module("scrapy.cmdline")._get_commands_dict(settings, True)
    import_module("scrapy.spiderloader").get_spider_loader(settings)
    import_module("newsbot.config.apps").active_apps(None)
    del sys.modules["newsbot.settings"]
    sys.path[:] = path
    os.environ.clear()
    os.environ.update(environment)


def main() -> None:
    """Import, read a page, fork, and run the program in each fork until the interpreter ends."""
    descriptor, program = sys.argv[1:]
    sys.argv = [program]  # newsbot reads its own name when it is imported
    with socket.socket(fileno=int(descriptor)) as connection:
        # each search for entry points reads files of all packages
        importlib.metadata.entry_points = cache(importlib.metadata.entry_points)  # type: ignore[assignment]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings on deprecated modules of Scrapy do not concern newsbot
            for package in PACKAGES:
                import_all(package)
        import_module("newsbot.pages.extraction").extract(
            PAGE, "http://news.test/2026/11/20/council-talks-about-the-bridge/"
        )
        _find_commands_and_apps()
        if "twisted.internet.reactor" in sys.modules:
            raise RuntimeError("a module has installed a reactor: programs could not choose theirs")
        gc.freeze()
        request = serve(connection)
    if request is not None:
        become(request)


if __name__ == "__main__":
    main()
