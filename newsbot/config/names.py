"""Names of settings that newsbot does not know: a slip changes nothing, and nobody would see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from scrapy.settings import BaseSettings

PREFIX = "NEWSBOT_"
TESTS = f"{PREFIX}TEST_"
"""How the names begin that our own tests read from the environment."""
FROM_ENVIRONMENT = frozenset(
    f"{PREFIX}{name}"
    for name in (
        *("DATA", "RULES", "REPORTS", "WARC_DIR", "KEEP_RAW", "KEEP_VERSIONS", "KEEP_PAGES", "CONTACT"),
        *("TDMREP", "ALLOW_PRIVATE", "RETRY_SCALE", "PAGE_VISITS", "POLL_BUDGET", "PUBLIC_URL"),
        *("WEB_TOKEN", "SENSOR_SECRET", "ALERT_WEBHOOK", "ALERT_MAIL", "ALERT_COMMAND", "LOG_LEVEL"),
        *("LOG_JSON", "PROGRESS_INTERVAL", "NEAR_DAYS"),
    )
)
"""Settings that are read from environment variables too."""
GONE = {
    f"{PREFIX}HTTP2": "set Scrapy's own handler instead: DOWNLOAD_HANDLERS = "
    '{"https": "scrapy.core.downloader.handlers.http2.H2DownloadHandler"} (needs: pip install h2)',
}
"""Settings that no longer exist, and what to set instead."""


@cache
def known() -> frozenset[str]:
    """Return the names of all settings. Their module reads the environment when it is imported: late."""
    ours = dir(import_module("newsbot.settings"))
    return frozenset(name for name in ours if name.startswith(PREFIX)) | {"NEWSBOT_LOG_LEVEL"}


def strange(settings: BaseSettings, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each name that was given and changes nothing."""
    for name in sorted(str(name) for name in settings if str(name).startswith(PREFIX)):
        if name not in known():
            yield f"{name}: {_unknown(name)}"
    given = (name for name, value in environment.items() if name.startswith(PREFIX) and value)
    for name in sorted(given):
        if name.startswith(TESTS):
            continue
        if name not in known():
            yield f"{name} (environment): {_unknown(name)}"
        elif name not in FROM_ENVIRONMENT:
            yield f"{name} (environment): is not read from there; give it as -s {name}=VALUE"


def _unknown(name: str) -> str:
    """Return why a name changes nothing, and which name to use instead."""
    if name in GONE:
        return f"this setting no longer exists; {GONE[name]}"
    near = get_close_matches(name, sorted(known()), n=1, cutoff=0.8)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"there is no such setting{hint}; see docs/settings.md"
