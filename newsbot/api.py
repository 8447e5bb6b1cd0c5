"""The Python interface of newsbot: crawl sites, extract one page, open stored articles. See docs/python.md.

::

    import newsbot

    article = newsbot.extract(html, "https://example.org/news/1")
    for article in newsbot.crawl(["example.org"], max_articles=20):
        print(article.title)
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from newsbot.backends import DATA_FILE, open_rules
from newsbot.backends import open_storage as open_by_settings
from newsbot.clock import system_clock, utc
from newsbot.crawl.scope import address, arguments_for, parse_arguments
from newsbot.errors import ArgumentError, DataUnavailable, UserError
from newsbot.items import Article
from newsbot.pages.extraction import extract
from newsbot.storage.base import Storage
from newsbot.storage.sqlite import SqliteStorage

__all__ = ["Article", "crawl", "extract", "open_storage"]

PACKAGE = Path(__file__).resolve().parent.parent
"""The folder that contains the package ``newsbot``."""
KEPT_LINES = 40
"""Number of last lines of a crawl's messages that an error shows."""
STOP_SECONDS = 60.0
"""Maximum number of seconds that a crawl may take to end after the stop signal. After that it is killed."""


def open_storage(data: str | os.PathLike[str] = "data") -> Storage:
    """Open the stored articles of a crawl.

    ``data`` is a data folder (the setting NEWSBOT_DATA), the file ``newsbot.db`` in it, or the URI of a
    MongoDB (``mongodb://…``). Close the storage after use, or use it in ``with contextlib.closing(...)``.
    Raises :class:`newsbot.errors.DataError` if there are no data or if they cannot be opened.
    """
    place = os.fspath(data)
    if "://" in place:
        return open_by_settings({"MONGO_URI": place})
    path = Path(place).expanduser()
    file = path if path.is_file() else path / DATA_FILE
    if not file.is_file():  # SQLite would create it
        raise DataUnavailable(f"{file}: there is no such file; name the data folder of a crawl")
    return SqliteStorage(file)


def crawl(
    sites: str | Iterable[str] = (),
    *,
    max_articles: int | None = None,
    max_articles_per_site: int | None = None,
    since: str | date | None = None,
    until: str | date | None = None,
    follow: str | Iterable[str] | None = None,
    feeds: str | Iterable[str] = (),
    now: bool = False,
    data: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: bool = False,
    **arguments: Any,
) -> Generator[Article, None, None]:
    """Crawl sites and yield each article when it has been stored.

    ``sites`` are domains or URLs, one or several. If a site has no rule, the crawl starts at its home page.
    ``feeds`` are addresses of feeds. After ``max_articles`` new articles the crawl stops. ``since`` and
    ``until`` are dates, or texts such as ``"7d"``. ``now`` reads all known sources of the sites, even if they
    are not due. ``arguments`` are further arguments of ``scrapy crawl news``.

    ``data`` is the folder for the data of the crawl; a second crawl with the same folder yields only new
    articles. If ``data`` is None, no data are kept. ``settings`` are settings of Scrapy and newsbot. With
    ``progress``, the log lines of the crawl are written to stderr.

    The arguments are checked at once. The crawl runs in a separate process. So it can run in a notebook, and
    a second crawl can follow it. It begins when the first article is requested from the iterator, and stops
    when the iterator is closed. Raises :class:`newsbot.errors.ArgumentError` for wrong arguments, and
    :class:`newsbot.errors.UserError` with the message of the crawl if the crawl fails, for example because no
    host has answered.
    """
    named, sources = _listed(sites), _listed(feeds)
    if not named and not sources:
        raise ArgumentError("crawl() needs at least one site or feed")
    chosen = dict(settings or {})
    asked = {
        **arguments,
        "max_articles": max_articles,
        "max_articles_per_site": max_articles_per_site,
        "since": since.isoformat() if isinstance(since, date) else since,
        "until": until.isoformat() if isinstance(until, date) else until,
        "follow": ",".join(_listed(follow or ())),
        "now": "yes" if now else None,
    }
    given = {name: value for name, value in asked.items() if value not in (None, "")}
    parse_arguments(given, now=utc(system_clock()))
    for name in (*named, *sources):
        address("sites", name)
    lists = {"feeds": sources, **arguments_for(open_rules(chosen, needed=False), named)}
    return _articles(given, lists, data, chosen, progress=progress)


def _listed(values: str | Iterable[str]) -> list[str]:
    return [one.strip() for one in ([values] if isinstance(values, str) else values)]


def _articles(
    arguments: Mapping[str, Any],
    lists: Mapping[str, Sequence[str]],
    data: str | os.PathLike[str] | None,
    settings: Mapping[str, Any],
    *,
    progress: bool,
) -> Generator[Article, None, None]:
    with tempfile.TemporaryDirectory(prefix="newsbot-") as own:
        kept = Path(own, "data") if data is None else Path(data)
        shown = {"LOG_LEVEL": "INFO"} if progress else {"LOG_LEVEL": "ERROR", "NEWSBOT_PROGRESS": 0}
        chosen = {**shown, "NEWSBOT_TRIAL": int(data is None), **settings, "NEWSBOT_DATA": kept.absolute()}
        given = {**arguments, **_files(lists, Path(own))}
        command = [sys.executable, "-m", "newsbot", "crawl", "news", "-O", "-:jsonl"]
        command += [word for name, value in given.items() for word in ("-a", f"{name}={value}")]
        command += [word for name, value in chosen.items() for word in ("-s", f"{name}={value}")]
        process = subprocess.Popen(  # noqa: S603  # our own command; no shell reads the arguments
            command, env=_environment(data is None), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        messages = _Messages(process, shown=progress)
        try:
            for line in process.stdout:
                yield Article.from_dict(json.loads(line))
            code = process.wait()
        finally:
            _stop(process)
            said = messages.end()
        if code:  # the commands of newsbot exit with 2 for wrong arguments
            raise (ArgumentError if code == 2 else UserError)(said or f"the crawl ended with code {code}")


def _files(lists: Mapping[str, Sequence[str]], folder: Path) -> dict[str, str]:
    """Return the arguments for lists. Addresses are passed in files, because they can contain any sign."""
    found = {}
    for name, values in lists.items():
        if name == "sites":
            found[name] = " ".join(values)
        elif values:
            file = folder / f"{name}.txt"
            file.write_text("\n".join(values), encoding="utf-8")
            found["urls_file" if name == "urls" else name] = str(file)
    return found


class _Messages:
    """Reads what a process writes to stderr, in a thread, and keeps the last lines."""

    def __init__(self, process: subprocess.Popen[bytes], *, shown: bool) -> None:
        assert process.stderr is not None
        self._stream, self._shown = process.stderr, shown
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._stream:
            self._lines.append(text := line.decode(errors="replace"))
            if self._shown:
                sys.stderr.write(text)

    def end(self) -> str:
        """Wait for the end of the process. Return its last lines, or only the last one if all were shown."""
        self._thread.join(STOP_SECONDS)
        self._stream.close()
        return "".join([*self._lines][-1:] if self._shown else self._lines)[-4000:].strip()


def _environment(trial: bool) -> dict[str, str]:
    """Return the environment of the crawl's process, with this package on its path.

    ``trial`` is True if the crawl keeps no data. Such a crawl must not use the servers that the environment
    names.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(PACKAGE), os.environ.get("PYTHONPATH")))),
        "PYTHONUNBUFFERED": "1",  # write each article at once, without a buffer
        "SCRAPY_SETTINGS_MODULE": "newsbot.settings",
    }
    if trial:
        for name in ("REDIS_URL", "MONGO_URI"):
            environment.pop(name, None)
    return environment


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the crawl and let it store what it has downloaded. Kill it if it has not ended after
    STOP_SECONDS."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    process.stdout.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
