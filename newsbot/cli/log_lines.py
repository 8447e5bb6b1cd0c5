"""Formats log lines as text or JSON, and masks secrets in them.

A message names an event and has ``key=value`` pairs. With NEWSBOT_LOG_JSON each line is one JSON object, in
which these pairs are fields. The pairs are read before the message is formatted, so the values keep their
types. Secrets are masked in the complete line, because the text may come from Scrapy, a library or a
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
"""Minimum length of a secret that is masked anywhere in a line.

A shorter secret would be found inside many words.
"""
MAX_LINE = 64 * 1024
"""Maximum number of characters of a message, and of a traceback, in JSON."""
# _PAIR matches a name with its placeholder in a message template ("seconds=%.1f"). _PLACE matches any
# placeholder.
_PAIR = re.compile(r"([A-Za-z_][\w./]*)=%(?:\([\w]+\))?[-+ #0]*[\d.*]*[sdrfgxi]")
_PLACE = re.compile(r"%(?:\((\w+)\))?[-+ #0]*[\d.*]*[sdrfgxi]")
# Matches the user name and the password before the "@" of a URL.
_USER = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://)[^\s/?#'\"<>]{1,500}@", re.IGNORECASE)
# Matches the user name and the password in a URL that is a query parameter of another URL. The characters
# "://", "@" and the separators are percent-encoded there, possibly several times (%3A, %253A).
_ESCAPED_USER = re.compile(
    r"(%(?:25)*3a(?:%(?:25)*2f){2})(?:(?!%(?:25)*(?:2f|3f|23))[^\s/?#&;'\"<>]){1,500}?(%(?:25)*40)",
    re.IGNORECASE,
)
_KEYS = (
    r"(?:[\w.-]{0,40}(?:credentials?|passw(?:or)?d|pwd|secret|token)|(?:[\w.-]{0,40}[_.-])?(?:auth|jwt|"
    r"sig(?:nature)?|(?:access|api|auth|license|private|secret|subscription|user)?key))(?:\[\w*\]|%5b\w*%5d)?"
)
_QUERY = re.compile(rf"((?:[?&;#]|%(?:25)*(?:3f|26)){_KEYS}(?:=|%(?:25)*3d))[^&;\s'\"<>#\\]+", re.IGNORECASE)
"""Matches a query parameter with a secret, even if its URL is percent-encoded in the query of another URL."""
# Matches a header in a log: "Authorization: Bearer …", or in Scrapy's form: b'Authorization': [b'Basic …'].
_HEADER = re.compile(
    r"((?:proxy-)?authorization['\"]?\s*[:=]\s*\[?b?['\"]?(?:basic|bearer)?\s*)[\w+/=.~-]{4,}", re.IGNORECASE
)
# _SECRET_NAME matches the names of settings whose values are secret. It also matches the names in
# _NO_SECRETS: settings of scrapy-redis that are not secret. _WITH_ADDRESS matches the names of settings whose
# values are URLs.
_SECRET_NAME = re.compile(r"(?:^|_)(?:SECRET|PASSWORD|PASSWD|PASS|TOKEN|KEY)(?:$|_)")
_NO_SECRETS = frozenset(("SCHEDULER_QUEUE_KEY", "SCHEDULER_DUPEFILTER_KEY", "REDIS_START_URLS_KEY"))
_WITH_ADDRESS = re.compile(r"(?:^|_)(?:URL|URI|DSN|PROXY)$")


of_rules: set[str] = set()
"""Secrets that rules give to requests."""


class SafeFormatter(logging.Formatter):
    """Formats a record with another formatter, ``inner``, and masks secrets in the result."""

    def __init__(self, inner: logging.Formatter, secrets: Iterable[str]) -> None:
        super().__init__()
        self.inner = inner
        # The longest secrets are masked first. A short secret can be a part of a long one. If the short one
        # were masked first, the rest of the long one would stay readable.
        self._secrets = sorted(secrets, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        """Return the formatted line with secrets masked."""
        secrets = [*sorted(of_rules, key=len, reverse=True), *self._secrets] if of_rules else self._secrets
        return redacted(self.inner.format(record), secrets)


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object.

    Its fields are ``at`` (time in ISO 8601), ``level``, ``logger``, ``event``, ``message``, the pairs of the
    message, and ``traceback`` for errors.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the JSON object as one line."""
        fields = pairs_of(record)
        line: dict[str, Any] = {
            "at": iso(utc(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": event_of(str(record.msg)),
            "message": record.getMessage()[:MAX_LINE],
            **{f"{name}_" if name in _OWN else name: value for name, value in fields.items()},
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)[-MAX_LINE:]
        return json.dumps(line, ensure_ascii=False, default=str)


_OWN = frozenset(("at", "level", "logger", "event", "message", "traceback"))
"""Fields of each line. If a pair has one of these names, an underscore is appended to its name."""


def shape_logs(settings: Any) -> None:
    """Set the formatters of the root logger's handlers according to the settings.

    It is safe to call this function again, for example after Scrapy has replaced a handler.
    """
    as_json = settings.getbool("NEWSBOT_LOG_JSON")
    secrets = set(secrets_of(settings))
    for handler in logging.root.handlers:
        present = handler.formatter or logging.Formatter()
        inner = present.inner if isinstance(present, SafeFormatter) else present
        handler.setFormatter(SafeFormatter(JsonFormatter() if as_json else inner, secrets))


def secrets_of(settings: Mapping[str, Any] | Any) -> Iterator[str]:
    """Yield the texts that must not appear in logs: values of secret settings, and passwords in URLs."""
    for name in list(settings):
        secret_itself = _SECRET_NAME.search(name) and name not in _NO_SECRETS
        if not secret_itself and not _WITH_ADDRESS.search(name):
            continue  # if certain other settings are read, Scrapy logs a warning
        value = settings.get(name)
        if not isinstance(value, str) or not value:
            continue
        for secret in [value] if secret_itself else _password_of(value):
            # A password is percent-encoded in a URL, but not in messages of database drivers.
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
    """Return a text in which secrets are replaced by :data:`MASK`.

    Secrets are the texts in ``secrets``, user names and passwords in URLs, and tokens in queries and headers.
    """
    # A regular expression runs only if the line contains certain characters. Most lines do not contain them,
    # and this test is much faster than the expression.
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
    """Return the ``key=value`` pairs of a record's message, with their values before formatting."""
    template, given = str(record.msg), record.args
    if not given:
        return {}
    named = {match[1]: match.start() for match in _PAIR.finditer(template)}
    # position of the value's placeholder in the template -> name of the pair
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
    """Return the name of an event, for example ``rules_taken_over``.

    The name consists of the first words of the message template, without placeholders and pairs. So it is
    the same for all messages from one place in the code.
    """
    words = re.findall(r"[A-Za-z]+", _PLACE.sub(" ", _PAIR.sub(" ", template)))
    return "_".join(words[:8]).lower() or "message"
