"""``scrapy articles show``: the stored data of an article, or its archived page."""

from __future__ import annotations

import sys
from pathlib import Path

from newsbot.apps.archive.cdxj import latest, page_at
from newsbot.backends import stored
from newsbot.cli.command import Call
from newsbot.errors import ArgumentError, UserError
from newsbot.operations.articles import find_article
from newsbot.operations.articles import show as show_stored


def show(call: Call) -> None:
    """Show all stored data of one article; with ``--original``, print its archived page."""
    if not call.options.original:
        show_stored(call)
        return
    name = call.settings.get("NEWSBOT_WARC_DIR")
    if not name:
        raise ArgumentError("--original: NEWSBOT_WARC_DIR is not set, so no pages are archived")
    folder = Path(name).expanduser()
    with stored(call.settings) as storage:
        article = find_article(call, storage)
    try:
        found = [place for url in (article.url, article.canonical_url) if (place := latest(folder, url))]
        page = page_at(found[0]) if found else None
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror or error}") from error
    if page is None or page.body is None:
        raise UserError(f"{article.url}: {folder} has no page of this article")
    if call.json:
        about = {"url": page.url, "at": page.at, "status": page.status, "headers": dict(page.headers)}
        call.document({**about, "file": str(found[0].path), "offset": found[0].offset})
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(page.body)
