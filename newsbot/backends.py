"""Which backend serves which role: the embedded file, or the servers that the settings name.

``settings`` is anything with ``get(name, default)``: Scrapy's settings or a dict.
"""

from __future__ import annotations

import math
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from newsbot.clock import DAY, Clock, system_clock
from newsbot.config.numbers import MOST_NEAR_DAYS, SettingsLike
from newsbot.dedup.index import KEEP, NearIndex
from newsbot.dedup.sqlite import SqliteIndex
from newsbot.dedup.sqlite import empty as empty_sqlite_index
from newsbot.errors import ArgumentError
from newsbot.frontier.base import Frontier
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.rules import RuleSet, load_rules
from newsbot.storage.base import Storage
from newsbot.storage.sqlite import SqliteStorage

DATA_FILE = "newsbot.db"
_OF_THEIR_SCHEDULER = (
    "SCHEDULER_FLUSH_ON_START",
    "SCHEDULER_QUEUE_KEY",
    "SCHEDULER_QUEUE_CLASS",
    "SCHEDULER_DUPEFILTER_KEY",
    "SCHEDULER_SERIALIZER",
    "SCHEDULER_IDLE_BEFORE_CLOSE",
    "REDIS_START_URLS_KEY",
)
REDIS_KEEPS = 3600.0
"""Seconds: pages that are due later are left to the storage, see :mod:`newsbot.crawl.refill`."""


def data_folder(settings: SettingsLike) -> Path:
    """Return the folder that holds the data (NEWSBOT_DATA, default ``data``)."""
    return Path(settings.get("NEWSBOT_DATA") or "data").expanduser()


def data_file(settings: SettingsLike) -> Path:
    """Return the path of the embedded data file; it need not exist."""
    return data_folder(settings) / DATA_FILE


def rules_folder(settings: SettingsLike) -> Path | Traversable:
    """Return the rules folder: NEWSBOT_RULES, else ``rules/`` of the project, else the package's copy."""
    given = settings.get("NEWSBOT_RULES")
    if given:
        return Path(given).expanduser()
    project = Path(__file__).resolve().parent.parent
    if (project / "scrapy.cfg").exists():
        return project / "rules"
    return files("newsbot") / "site_rules"


def open_rules(settings: SettingsLike) -> RuleSet:
    """Load all rules. Raises :class:`newsbot.errors.RulesError` with all problems at once."""
    return load_rules(rules_folder(settings))


def open_frontier(settings: SettingsLike, clock: Clock = system_clock) -> Frontier:
    """Open the frontier. Raises :class:`newsbot.errors.DataError`."""
    if not settings.get("REDIS_URL"):
        return SqliteFrontier(data_file(settings), clock=clock)
    from newsbot.frontier.redis import RedisFrontier  # noqa: PLC0415  (as for storage)

    return RedisFrontier(settings, keep_within=REDIS_KEEPS, clock=None if clock is system_clock else clock)


def open_storage(settings: SettingsLike, *, hurried: bool = False) -> Storage:
    """Open the storage. Raises :class:`newsbot.errors.DataError`.

    ``hurried``: a server gets a few seconds for each answer, not the time of a long search.
    """
    uri = settings.get("MONGO_URI")
    if not uri:
        return SqliteStorage(data_file(settings))
    from newsbot.storage.mongo import MongoStorage  # noqa: PLC0415  (who has no server need not wait for pymongo)

    return MongoStorage(uri, hurried=hurried)


def open_index(settings: SettingsLike) -> NearIndex:
    """Open the near-duplicate index.

    Raises :class:`newsbot.errors.DataError`, and :class:`newsbot.errors.ArgumentError` for a setting that is
    no number of days.
    """
    if not settings.get("REDIS_URL"):
        return SqliteIndex(data_file(settings), keep=_near_seconds(settings))
    from newsbot.dedup.redis import RedisIndex  # noqa: PLC0415  (as for storage)

    return RedisIndex(settings, keep=_near_seconds(settings))


def _near_seconds(settings: SettingsLike) -> float:
    given = settings.get("NEWSBOT_NEAR_DAYS")
    try:
        days = KEEP / DAY if given in (None, "") else float(given)
    except (TypeError, ValueError):
        days = math.nan
    if not 1 <= days <= MOST_NEAR_DAYS:
        raise ArgumentError(f"NEWSBOT_NEAR_DAYS={given}: must be a number, 1 to {MOST_NEAR_DAYS}")
    return days * DAY


def empty_index(settings: SettingsLike) -> None:
    """Throw the near-duplicate index away, whatever made it. Raises :class:`newsbot.errors.DataError`."""
    if not settings.get("REDIS_URL"):
        empty_sqlite_index(data_file(settings))
        return
    from newsbot.dedup import redis  # noqa: PLC0415  (as for storage)

    redis.empty(settings)


def ignored_settings(settings: SettingsLike) -> list[str]:
    """Return the settings of scrapy-redis that are set and mean something else here, or nothing.

    Nothing queued is ever thrown away, what is queued is JSON, and the frontier tells what is known.
    Without REDIS_URL the crawl is in the data file, whatever host is named.
    """
    if not settings.get("REDIS_URL"):
        return [name for name in ("REDIS_HOST", "REDIS_PORT", "REDIS_PARAMS") if settings.get(name)]
    ignored = [name for name in _OF_THEIR_SCHEDULER if settings.get(name)]
    persist = settings.get("SCHEDULER_PERSIST")
    if persist is not None and str(persist).lower() in ("", "0", "false"):
        ignored.insert(0, f"SCHEDULER_PERSIST={persist}")
    return ignored
