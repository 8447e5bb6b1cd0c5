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
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from newsbot.backends import open_rules
from newsbot.backends import open_storage as open_by_settings
from newsbot.errors import ArgumentError, UserError
from newsbot.extraction import extract
from newsbot.items import Article
from newsbot.storage.base import Storage

__all__ = ["Article", "crawl", "extract", "open_storage"]

PACKAGE = Path(__file__).resolve().parent.parent
"""The folder that contains the package ``newsbot``."""
STOP_SECONDS = 60.0
"""Maximum number of seconds that a crawl may take to end after the stop signal. After that it is killed."""


def open_storage(data: str | os.PathLike[str] = "data") -> Storage:
    """Open the stored articles of a crawl.

    ``data`` is a data folder (the setting NEWSBOT_DATA) or the URI of a MongoDB (``mongodb://…``). Close the
    storage after use, or use it in ``with contextlib.closing(...)``. Raises
    :class:`newsbot.errors.DataError` if it cannot be opened.
    """
    place = os.fspath(data)
    name = "MONGO_URI" if place.startswith(("mongodb://", "mongodb+srv://")) else "NEWSBOT_DATA"
    return open_by_settings({name: place})


def crawl(
    sites: str | Sequence[str],
    *,
    max_articles: int | None = None,
    data: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> Generator[Article, None, None]:
    """Crawl sites and yield each article when it has been stored.

    ``sites`` are domains or URLs. If a site has no rule, the crawl starts at its home page. After
    ``max_articles`` new articles the crawl stops. ``data`` is the folder for the data of the crawl; a second
    crawl with the same folder yields only new articles. If ``data`` is None, no data are kept. ``settings``
    are settings of Scrapy and newsbot. ``arguments`` are further arguments of ``scrapy crawl news``, such as
    ``since="7d"``.

    The crawl runs in a separate process. So it can run in a notebook, and a second crawl can follow it. It
    begins when the first article is requested from the iterator, and stops when the iterator is closed.
    Raises :class:`newsbot.errors.ArgumentError` for wrong arguments, and :class:`newsbot.errors.UserError`
    with the message of the crawl if the crawl fails.
    """
    named = [sites] if isinstance(sites, str) else list(sites)
    if not named:
        raise ArgumentError("crawl() needs at least one site")
    settings = dict(settings or {})
    rules = open_rules(settings)
    # The spider argument ``sites`` accepts only sites with a rule. Other sites are passed as URLs.
    ruled = [site for site in named if "/" not in site and rules.get(site) is not None]
    others = [site for site in named if site not in ruled]
    asked = {
        **arguments,
        "sites": ",".join(ruled),
        "urls": " ".join(others),
        "max_articles": "" if max_articles is None else max_articles,
    }
    return _articles({name: value for name, value in asked.items() if value != ""}, data, settings)


def _articles(
    arguments: Mapping[str, Any], data: str | os.PathLike[str] | None, settings: Mapping[str, Any]
) -> Generator[Article, None, None]:
    with tempfile.TemporaryDirectory(prefix="newsbot-") as own, tempfile.TemporaryFile() as messages:
        kept = Path(own if data is None else data).absolute()
        chosen = {"LOG_LEVEL": "ERROR", "NEWSBOT_PROGRESS": 0, **settings, "NEWSBOT_DATA": kept}
        command = [sys.executable, "-m", "scrapy", "crawl", "news", "-O", "-:jsonl"]
        command += [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
        command += [word for name, value in chosen.items() for word in ("-s", f"{name}={value}")]
        process = subprocess.Popen(  # noqa: S603  # our own command; no shell reads the arguments
            command, env=_environment(data is None), stdout=subprocess.PIPE, stderr=messages
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                yield Article.from_dict(json.loads(line))
            code = process.wait()
        finally:
            _stop(process)
        if code:  # the commands of newsbot exit with 2 for wrong arguments
            messages.seek(0)
            said = messages.read()[-4000:].decode(errors="replace").strip()
            raise (ArgumentError if code == 2 else UserError)(said or f"the crawl ended with code {code}")


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
