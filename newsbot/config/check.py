"""Checks the settings before a command begins: values, names, and modules that have moved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from newsbot.config.table import SETTINGS, Setting
from newsbot.errors import ArgumentError, did_you_mean

PREFIX = "NEWSBOT_"
TESTS = f"{PREFIX}TEST_"
"""Prefix of the environment variables that newsbot's own tests read."""

MOVED = {
    "newsbot.crawl.auxiliary_scheduler": "newsbot.apps.monitor.side_spiders",
    "newsbot.extensions.alerts": "newsbot.apps.alerts.extension",
    "newsbot.extensions.followers": "newsbot.apps.followers.extension",
    "newsbot.extensions.progress": "newsbot.apps.progress.display",
    "newsbot.extensions.samples": "newsbot.apps.authoring.samples",
    "newsbot.extensions.statsfile": "newsbot.apps.progress.statsfile",
    "newsbot.extensions.summary": "newsbot.apps.progress.summary",
    "newsbot.logformatter": "newsbot.cli.log_formatter",
    "newsbot.middlewares.archive": "newsbot.apps.archive.middleware",
    "newsbot.middlewares.rendering": "newsbot.apps.rendering.middleware",
    "newsbot.middlewares.signatures": "newsbot.apps.signatures.middleware",
    "newsbot.operations.exporting.formats": "newsbot.apps.export.formats",
    "newsbot.resolver": "newsbot.crawl.address_guard",
    "newsbot.scheduler": "newsbot.crawl.scheduler",
    "newsbot.sidecrawl": "newsbot.apps.monitor.side_spiders",
}
"""Old path -> new path of the modules that have moved and that users may name in Scrapy's settings."""

GONE = {
    f"{PREFIX}HTTP2": "set Scrapy's own handler instead: DOWNLOAD_HANDLERS = "
    '{"https": "scrapy.core.downloader.handlers.http2.H2DownloadHandler"} (needs: pip install h2)',
}
"""Settings that no longer exist, and what to set instead."""

PARTS = (
    *("SCHEDULER", "TWISTED_DNS_RESOLVER", "LOG_FORMATTER", "DUPEFILTER_CLASS", "STATS_CLASS"),
    *("DOWNLOADER", "SPIDER_LOADER_CLASS", "DOWNLOAD_HANDLERS", "DOWNLOADER_MIDDLEWARES"),
    *("SPIDER_MIDDLEWARES", "ITEM_PIPELINES", "EXTENSIONS", "ADDONS", "FEED_EXPORTERS", "FEED_STORAGES"),
)
"""Names of Scrapy's settings whose values can contain dotted paths of newsbot's classes."""


class SettingsLike(Protocol):
    """The part of the interface of Scrapy's settings that newsbot uses. A dict provides it too."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a setting, or ``default`` if it is not set."""


def value_of(settings: SettingsLike, name: str) -> Any:
    """Return the parsed value of a setting of the table, or its default if it is not set.

    Raises :class:`ArgumentError` if the value is not valid, and ``KeyError`` if ``name`` is not in the table.
    """
    setting = SETTINGS[name]
    raw = settings.get(name)
    if raw is None:
        raw = setting.default
    if raw is None:
        return None
    try:
        return setting.kind.read(raw)
    except (TypeError, ValueError, KeyError, OverflowError):
        raise ArgumentError(f"{name}={_shown(setting, raw)}: must be {setting.kind.must}") from None


def number_of(settings: SettingsLike, name: str) -> float:
    """Return the value of a setting that is a number. Raises the same errors as :func:`value_of`."""
    return cast("float", value_of(settings, name))


def check_settings(settings: SettingsLike) -> None:
    """Check all settings of the table, and check that the log file can be written.

    Raises :class:`ArgumentError` for the first fault.
    """
    for name in SETTINGS:
        value_of(settings, name)
    if path := settings.get("LOG_FILE"):
        try:
            # Append mode does not change a log that exists.
            Path(path).open("ab").close()
        except OSError as error:
            raise ArgumentError(f"the log file {path} cannot be written ({error.strerror})") from error


def check_parts(settings: SettingsLike) -> None:
    """Raise :class:`ArgumentError` for the first setting that names a module that has moved."""
    for name in PARTS:
        for path in _paths(settings.get(name)):
            module, _, part = path.rpartition(".")
            if module in MOVED:
                raise ArgumentError(f"{name}: {path} has moved; replace it by {MOVED[module]}.{part}")


def unknown_names(settings: Mapping[Any, Any], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a message for each setting or environment variable that has no effect, for example because of a
    spelling error.

    Only names that begin with :data:`PREFIX` are checked.
    """
    variables = {setting.environment for setting in SETTINGS.values()}
    known = {name for name in (*SETTINGS, *variables) if name.startswith(PREFIX)}
    for name in sorted(name for name in map(str, settings) if name.startswith(PREFIX)):
        if name not in known:
            yield f"{name}: {_unknown(name, known)}"
    # An empty environment variable counts as not set.
    for name in sorted(name for name, value in environment.items() if name.startswith(PREFIX) and value):
        if name in variables or name.startswith(TESTS):
            continue
        if name in known:
            yield f"{name}: is not read from the environment; set it with -s {name}=VALUE"
        else:
            yield f"{name} (environment): {_unknown(name, known)}"


def _unknown(name: str, known: set[str]) -> str:
    """Return why a name has no effect, and what to use instead."""
    if name in GONE:
        return f"this setting no longer exists; {GONE[name]}"
    hint = did_you_mean(name, sorted(known), similarity=0.8)
    return f"there is no such setting{hint}; see docs/settings.md"


def _shown(setting: Setting, raw: Any) -> str:
    """Return a value as text for a message.

    The text is one line of at most 200 characters without passwords.
    """
    if setting.secret:
        return "***"
    # e.g. redis://user:secret@host becomes redis://***@host
    return re.sub(r"://[^/@\s]*@", "://***@", " ".join(str(raw).split()))[:200]


def _paths(raw: Any) -> Iterator[str]:
    """Yield the dotted paths in a value: the value itself, or the keys and values of a dict."""
    if isinstance(raw, str):
        yield raw
    elif isinstance(raw, Mapping):
        for one in (*raw, *raw.values()):
            if isinstance(one, str):
                yield one
