"""``scrapy article``: extracts the article of one page, from the web or from a file."""

from __future__ import annotations

import sys
import time
from mimetypes import guess_type
from pathlib import Path
from tempfile import TemporaryDirectory

from scrapy.settings import Settings

from newsbot import api
from newsbot.apps.operations.explain import explain, lines
from newsbot.backends import open_rules, queued, stored
from newsbot.cli.command import Action, Argument, Call, one_of
from newsbot.config.apps import open_documents
from newsbot.errors import ArgumentError, NotAnArticle, UserError
from newsbot.items import Article
from newsbot.pages.discovery.reader import html_of
from newsbot.pages.extraction import read_page
from newsbot.urls import canonicalize

NOWHERE = "http://localhost/"
"""The URL of a page in a file if the option ``--url`` is missing."""
MAX_BYTES = 10 * 2**20
"""Maximum size of a page from stdin in bytes; the same as DOWNLOAD_MAXSIZE."""
PASSED_ON = ("NEWSBOT_RULES", "NEWSBOT_RENDER", "NEWSBOT_BROWSER", "NEWSBOT_RENDER_SECONDS")
"""Settings that are passed on to the crawl."""


def article(call: Call) -> None:
    """Print the article of a URL or a file. The exit code is 1 if the page has no article."""
    page = call.options.page
    if "://" in page:
        found = _fetched(page, call.settings)
    else:
        found = _read(page, call.options.url or NOWHERE, call.settings)
    if call.json or call.options.format == "json":
        call.document(found.to_dict())
    elif call.options.format == "md":
        call.text(found.to_markdown(), whole=True)
    else:
        call.text(f"{found.title}\n\n{found.text}")


def _fetched(url: str, settings: Settings) -> Article:
    """Fetch the page in a crawl, so that robots.txt, the delay of its host and the address guard apply.

    The crawl stores its data in a temporary folder and does not touch the user's data. Raises
    :class:`UserError` with the history of the page if the page has no article.
    """
    passed_on = {name: settings.get(name) for name in PASSED_ON if settings.get(name)}
    with TemporaryDirectory(prefix="newsbot-") as folder:
        crawl = api.crawl(
            url, max_articles=1, data=folder, settings={**passed_on, "MONGO_URI": "", "REDIS_URL": ""}
        )
        if (article := next(crawl, None)) is not None:
            return article
        crawl_settings = {"NEWSBOT_DATA": folder}
        with stored(crawl_settings) as storage, queued(crawl_settings) as frontier:
            now = time.time()
            facts = explain(url, open_rules(settings), storage, frontier, now=now)
    raise UserError("\n".join([f"{url}: no article was found", *lines(facts, now)]))


def _read(file: str, url: str, settings: Settings) -> Article:
    try:
        canonicalize(url)
        html = sys.stdin.buffer.read(MAX_BYTES) if file == "-" else Path(file).expanduser().read_bytes()
    except ValueError as error:
        raise ArgumentError(f"--url: {error}") from error
    except OSError as error:
        raise ArgumentError(
            f"{file}: cannot be read ({error.strerror}); write a URL with https://"
        ) from error
    try:
        # The user chose the page, so no further evidence is needed that it is an article.
        kind = guess_type(file)[0] or ""
        html, _ = html_of(open_documents(settings.get("NEWSBOT_APPS")), url, kind, html)
        return read_page(html, url, rule=open_rules(settings).for_url(url), vouched=True)
    except NotAnArticle as error:
        raise UserError(f"{file}: is not an article ({error.reason})") from error


ACTIONS = (
    Action(
        "",
        "Extract the article of one page without storing it",
        article,
        Argument("page", metavar="URL|FILE", help="a URL, or a file with HTML; - is stdin"),
        Argument(
            "--format",
            type=one_of("json", "md", "txt"),
            default="txt",
            metavar="FORMAT",
            help="json, md (Markdown) or txt (the default)",
        ),
        Argument(
            "--url",
            metavar="URL",
            help="the URL of the page in FILE, to resolve links and to choose the rule",
        ),
    ),
)
