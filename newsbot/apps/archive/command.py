"""``scrapy articles show``: the stored data of an article, or its archived page."""

from __future__ import annotations

import sys
from pathlib import Path

from newsbot.apps.archive.reader import Page
from newsbot.apps.archive.writer import Place, latest, page_at
from newsbot.apps.operations.articles import show as show_stored
from newsbot.backends import open_rules, stored
from newsbot.cli.command import Call
from newsbot.cli.program import PROGRAM
from newsbot.config.settings import SettingsLike
from newsbot.errors import ArgumentError, UserError
from newsbot.storage.base import Storage
from newsbot.urls import canonicalize, fingerprint


def show(call: Call) -> None:
    """Show all stored data of one article; with ``--original``, print its archived page."""
    if not call.options.original:
        show_stored(call)
        return
    with stored(call.settings) as storage:
        place, page = archived(call.settings, storage, call.options.url)
    if call.json:
        about = {"url": page.url, "at": page.at, "status": page.status, "headers": dict(page.headers)}
        call.document({**about, "file": str(place.path), "offset": place.offset})
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(page.body or b"")


def archived(settings: SettingsLike, storage: Storage, url: str) -> tuple[Place, Page]:
    """Return the newest archived page of a URL, with its place.

    Only pages that are known to the storage are shown, so that removed ones are not. Raises
    :class:`ArgumentError` if no pages are archived, and :class:`UserError` if the page is not.
    """
    name = settings.get("NEWSBOT_WARC_DIR")
    if not name:
        raise ArgumentError("NEWSBOT_WARC_DIR is not set, so no pages are archived")
    folder = Path(name).expanduser()
    urls = _urls_of(settings, storage, url)
    try:
        for one in urls:
            place = latest(folder, one)
            page = None if place is None else page_at(place)
            if place is not None and page is not None and page.body is not None:
                return place, page
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror or error}") from error
    raise UserError(f"{url}: {folder} has no page of this URL")


def _urls_of(settings: SettingsLike, storage: Storage, url: str) -> list[str]:
    """Return the URLs under which a page may be archived, the most likely one first."""
    try:
        canonical = canonicalize(url, open_rules(settings).for_url(url).drop_query)
    except ValueError as error:
        raise ArgumentError(str(error)) from error
    article = storage.articles.get(canonicalize(url)) or storage.articles.get(canonical)
    page = storage.pages.get([fingerprint(canonical)]).get(fingerprint(canonical))
    if article is None and page is None:
        raise UserError(f"{url}: no page or article is stored under this URL; see: {PROGRAM} why '{url}'")
    found = [] if article is None else [article.fetched_url, article.url, article.canonical_url]
    return list(dict.fromkeys([*found, *([] if page is None else [page.url]), url, canonical]))
