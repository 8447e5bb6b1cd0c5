"""The form of log lines: text or JSON, never with a secret in them.

What is logged is an event with ``key=value`` pairs. With NEWSBOT_LOG_JSON each line is one JSON object: the
pairs are its fields, taken from the message before it is put together, so that values keep their types.
Secrets are taken out of the finished line, whatever wrote it: newsbot, Scrapy, a library, a
traceback.
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
"""Signs of a secret that is looked for by itself: shorter ones stand in half of all words."""
MAX_LINE = 64 * 1024
_PAIR = re.compile(r"([A-Za-z_][\w./]*)=%(?:\([\w]+\))?[-+ #0]*[\d.*]*[sdrfgxi]")
_PLACE = re.compile(r"%(?:\((\w+)\))?[-+ #0]*[\d.*]*[sdrfgxi]")
_USER = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://)[^\s/@'\"<>]{1,500}@", re.IGNORECASE)
_KEYS = r"(?:access_?token|api_?key|auth|key|passw(?:or)?d|pwd|secret|sig(?:nature)?|token)"
_QUERY = re.compile(rf"([?&;]{_KEYS}=)[^&;\s'\"<>#]+", re.IGNORECASE)
_HEADER = re.compile(
    r"((?:proxy-)?authorization['\"]?\s*[:=]\s*\[?b?['\"]?(?:basic|bearer)?\s*)[\w+/=.~-]{4,}", re.IGNORECASE
)
_SECRET_NAME = re.compile(r"(?:^|_)(?:SECRET|PASSWORD|PASSWD|PASS|TOKEN|KEY)(?:$|_)")
_NO_SECRETS = frozenset(("SCHEDULER_QUEUE_KEY", "SCHEDULER_DUPEFILTER_KEY", "REDIS_START_URLS_KEY"))
_WITH_ADDRESS = re.compile(r"(?:^|_)(?:URL|URI|DSN|PROXY)$")


class SafeFormatter(logging.Formatter):
    """Puts a line together as ``inner`` does, and takes secrets out of it."""

    def __init__(self, inner: logging.Formatter, secrets: Iterable[str]) -> None:
        super().__init__()
        self.inner = inner
        self._secrets = sorted(secrets, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return redacted(self.inner.format(record), self._secrets)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ``at``, ``level``, ``logger``, ``event``, ``message``, the message's pairs."""

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
    """Let all handlers of the root logger write as the settings say; may be called again."""
    as_json = settings.getbool("NEWSBOT_LOG_JSON")
    secrets = set(secrets_of(settings))
    for handler in logging.root.handlers:
        present = handler.formatter or logging.Formatter()
        inner = present.inner if isinstance(present, SafeFormatter) else present
        handler.setFormatter(SafeFormatter(JsonFormatter() if as_json else inner, secrets))


def secrets_of(settings: Mapping[str, Any] | Any) -> Iterator[str]:
    """Yield what must stand in no line: values of settings that are secrets, passwords in addresses."""
    for name in list(settings):
        secret_itself = _SECRET_NAME.search(name) and name not in _NO_SECRETS
        if not secret_itself and not _WITH_ADDRESS.search(name):
            continue  # others are not even looked at: Scrapy warns of some
        value = settings.get(name)
        if not isinstance(value, str) or not value:
            continue
        for secret in [value] if secret_itself else _password_of(value):
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
    """Return a line without the given secrets, users in addresses, and tokens in queries and headers."""
    for secret in secrets:
        if secret in line:
            line = line.replace(secret, MASK)
    if "://" in line and "@" in line:
        line = _USER.sub(rf"\1{MASK}@", line)
    if "=" in line:
        line = _QUERY.sub(rf"\1{MASK}", line)
    if "uthorization" in line or "UTHORIZATION" in line:
        line = _HEADER.sub(rf"\1{MASK}", line)
    return line


def pairs_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the ``key=value`` pairs of a message, with the values that were given for them."""
    template, given = str(record.msg), record.args
    if not given:
        return {}
    named = {match[1]: match.start() for match in _PAIR.finditer(template)}
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
    """Return a name for a kind of message, the same whatever its values: its words without them."""
    words = re.findall(r"[A-Za-z]+", _PLACE.sub(" ", _PAIR.sub(" ", template)))
    return "_".join(words[:8]).lower() or "message"
