"""The form of log lines: text or JSON, without secrets.

A message is an event with ``key=value`` pairs. With NEWSBOT_LOG_JSON each line is one JSON object with these
pairs as fields. They are read before the message is formatted, so that values keep their types. Secrets are
masked in the finished line, whoever wrote it: newsbot, Scrapy, a library, a traceback.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from newsbot.clock import iso, utc

MASK = "***"
LEAST = 4
"""Minimum length of a secret that is masked wherever it occurs. Shorter ones occur in many words."""
MAX_LINE = 64 * 1024
_PAIR = re.compile(r"([A-Za-z_][\w./]*)=%(?:\([\w]+\))?[-+ #0]*[\d.*]*[sdrfgxi]")
_PLACE = re.compile(r"%(?:\((\w+)\))?[-+ #0]*[\d.*]*[sdrfgxi]")
_USER = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://)[^\s/?#'\"<>]{1,500}@", re.IGNORECASE)
_ESCAPED_USER = re.compile(
    r"(%(?:25)*3a(?:%(?:25)*2f){2})(?:(?!%(?:25)*(?:2f|3f|23))[^\s/?#&;'\"<>]){1,500}?(%(?:25)*40)",
    re.IGNORECASE,
)
_KEYS = (
    r"(?:[\w.-]{0,40}(?:credentials?|passw(?:or)?d|pwd|secret|token)|(?:[\w.-]{0,40}[_.-])?(?:auth|jwt|"
    r"sig(?:nature)?|(?:access|api|auth|license|private|secret|subscription|user)?key))(?:\[\w*\]|%5b\w*%5d)?"
)
_QUERY = re.compile(rf"((?:[?&;#]|%(?:25)*(?:3f|26)){_KEYS}(?:=|%(?:25)*3d))[^&;\s'\"<>#\\]+", re.IGNORECASE)
"""Matches a query parameter, also in an escaped URL inside a query."""
_HEADER = re.compile(
    r"((?:proxy-)?authorization['\"]?\s*[:=]\s*\[?b?['\"]?(?:basic|bearer)?\s*)[\w+/=.~-]{4,}", re.IGNORECASE
)
_SECRET_NAME = re.compile(r"(?:^|_)(?:SECRET|PASSWORD|PASSWD|PASS|TOKEN|KEY)(?:$|_)")
_NO_SECRETS = frozenset(("SCHEDULER_QUEUE_KEY", "SCHEDULER_DUPEFILTER_KEY", "REDIS_START_URLS_KEY"))
_WITH_ADDRESS = re.compile(r"(?:^|_)(?:URL|URI|DSN|PROXY)$")


class SafeFormatter(logging.Formatter):
    """Formats a line with ``inner`` and masks secrets in it."""

    def __init__(self, inner: logging.Formatter, secrets: Iterable[str]) -> None:
        super().__init__()
        self.inner = inner
        self._secrets = sorted(secrets, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return redacted(self.inner.format(record), self._secrets)


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: ``at``, ``level``, ``logger``, ``event``, ``message``, the
    message's pairs."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields = pairs_of(record)
        told: dict[str, Any] = {
            "at": iso(utc(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": event_of(str(record.msg)),
            "message": record.getMessage()[:MAX_LINE],
            **{f"{name}_" if name in _OWN else name: value for name, value in fields.items()},
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)[-MAX_LINE:]
        return json.dumps(told, ensure_ascii=False, default=str)


_OWN = frozenset(("at", "level", "logger", "event", "message", "traceback"))


def shape_logs(settings: Any) -> None:
    """Set the formatters of the root logger's handlers according to the settings. May be called again."""
    as_json = settings.getbool("NEWSBOT_LOG_JSON")
    secrets = set(secrets_of(settings))
    for handler in logging.root.handlers:
        present = handler.formatter or logging.Formatter()
        inner = present.inner if isinstance(present, SafeFormatter) else present
        handler.setFormatter(SafeFormatter(JsonFormatter() if as_json else inner, secrets))


def secrets_of(settings: Mapping[str, Any] | Any) -> Iterator[str]:
    """Yield the strings that must not appear in logs: values of secret settings, and passwords in URLs."""
    for name in list(settings):
        secret_itself = _SECRET_NAME.search(name) and name not in _NO_SECRETS
        if not secret_itself and not _WITH_ADDRESS.search(name):
            continue  # do not read other settings: Scrapy warns when some are read
        value = settings.get(name)
        if not isinstance(value, str) or not value:
            continue
        for secret in [value] if secret_itself else _password_of(value):
            # A password in a URL is escaped there, and unescaped in messages of drivers.
            for form in (secret, unquote(secret), quote(secret, safe="")):
                if len(form) >= LEAST:
                    yield form


def _password_of(address: str) -> list[str]:
    try:
        password = urlsplit(address).password
    except ValueError:
        password = None
    return [password] if password else []


def redacted(line: str, secrets: Iterable[str] = ()) -> str:
    """Return a text with the given secrets, users in URLs, and tokens in queries and headers masked."""
    for secret in secrets:
        if secret in line:
            line = line.replace(secret, MASK)
    if "://" in line and "@" in line:
        line = _USER.sub(rf"\1{MASK}@", line)
    if "%" in line:
        line = _ESCAPED_USER.sub(rf"\1{MASK}\2", line)
    if "=" in line or "%" in line:
        line = _QUERY.sub(rf"\1{MASK}", line)
    if "uthorization" in line or "UTHORIZATION" in line:
        line = _HEADER.sub(rf"\1{MASK}", line)
    return line


def pairs_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the ``key=value`` pairs of a message, with their unformatted values."""
    template, given = str(record.msg), record.args
    if not given:
        return {}
    named = {match[1]: match.start() for match in _PAIR.finditer(template)}
    # Position of the value's placeholder in the message -> name of the pair.
    starts = {template.index("=", start) + 1: name for name, start in named.items()}
    found: dict[str, Any] = {}
    for number, match in enumerate(_PLACE.finditer(template.replace("%%", "  "))):
        name = starts.get(match.start())
        if name is None:
            continue
        if isinstance(given, Mapping):
            value = given.get(match[1] or "")
        else:
            value = given[number] if number < len(given) else None
        found[name] = value if isinstance(value, bool | int | float | None) else str(value)
    return found


def event_of(template: str) -> str:
    """Return a name for a kind of message: its words without values and pairs."""
    words = re.findall(r"[A-Za-z]+", _PLACE.sub(" ", _PAIR.sub(" ", template)))
    return "_".join(words[:8]).lower() or "message"
