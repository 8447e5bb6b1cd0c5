"""Opening the data for commands that only look: nothing is made where nothing has been crawled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from newsbot.backends import data_file, open_frontier, open_storage
from newsbot.config.check import SettingsLike
from newsbot.errors import DataUnavailable
from newsbot.frontier.base import Frontier
from newsbot.storage.base import Storage


@contextmanager
def stored(settings: SettingsLike) -> Iterator[Storage]:
    """Give the storage. Raises :class:`DataUnavailable` if nothing has been crawled yet."""
    if not settings.get("MONGO_URI"):
        _must_exist(settings)
    with closing(open_storage(settings)) as storage:
        yield storage


@contextmanager
def queued(settings: SettingsLike) -> Iterator[Frontier]:
    """Give the frontier. Raises :class:`DataUnavailable` if nothing has been crawled yet."""
    if not settings.get("REDIS_URL"):
        _must_exist(settings)
    with closing(open_frontier(settings)) as frontier:
        yield frontier


def _must_exist(settings: SettingsLike) -> None:
    path = data_file(settings)
    try:
        exists = path.exists()
    except OSError as error:  # a folder on the way may not be entered
        raise DataUnavailable(f"{path}: cannot be read ({error.strerror})") from error
    if not exists:
        raise DataUnavailable(
            f"{path}: nothing has been crawled yet; run: scrapy crawl news (or set NEWSBOT_DATA)"
        )
