"""``scrapy why URL``: shows how a URL was found, judged, fetched, stored or dropped, and when it is due."""

from __future__ import annotations

import time
from contextlib import ExitStack

from newsbot.backends import data_file, open_rules, queued, stored
from newsbot.cli.command import Call
from newsbot.errors import ArgumentError, DataUnavailable
from newsbot.operations.explain import explain
from newsbot.operations.explain_text import document, lines
from newsbot.urls import meant


def why(call: Call) -> int:
    """Print all data about a URL, even if no crawl has seen it yet."""
    now = time.time()
    with ExitStack() as stack:
        storage = frontier = None  # without data, only the rules are used, and no data file is created
        if call.settings.get("MONGO_URI") or call.settings.get("REDIS_URL") or _has_data(call):
            storage = stack.enter_context(stored(call.settings))
            frontier = stack.enter_context(queued(call.settings))
        try:
            story = explain(call.options.url, open_rules(call.settings), storage, frontier, now=now)
        except ValueError as error:
            raise ArgumentError(f"{error}{meant(call.options.url)}") from error
    if call.json:
        call.document(document(story))
    else:
        for line in lines(story, now):
            call.text(line)
        if storage is None:
            call.note(f"{data_file(call.settings)}: nothing has been crawled yet; run: scrapy crawl news")
    return 0


def _has_data(call: Call) -> bool:
    try:
        return data_file(call.settings).exists()
    except OSError as error:
        raise DataUnavailable(f"{data_file(call.settings)}: cannot be read ({error.strerror})") from error
