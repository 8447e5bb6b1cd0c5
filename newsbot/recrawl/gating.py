"""Decides before a download whether it is made, and with which conditional headers (RFC 9110, 13.1).

It also reads from the response to a HEAD request that a page is unchanged. This saves the download.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from newsbot.items import PageRecord

FULL_FETCH_EVERY = 24 * 3600.0
"""Seconds after which a page is fetched without conditional headers. Some servers never change an ETag,
although the page changes."""

_SLACK = 1.0  # in seconds; a due page may come some milliseconds before its interval has passed
_MAX_VALIDATOR = 500
"""Maximum length of an ETag or Last-Modified value that is sent back."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The decision whether a page is fetched now."""

    fetch: bool
    until: float | None
    """Time from which a refused page may be fetched, POSIX seconds; None if it may be fetched now."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Conditional headers of the request; empty if it has none."""
    reason: str = ""
    """Why, as a text for people."""


def gate(record: PageRecord | None, interval: float, now: float) -> Gate:
    """Return the decision whether a page may be fetched at ``now`` (POSIX seconds), with the headers to send.

    A page is refused until ``interval`` seconds after its last fetch. An interval of 0 or less refuses
    nothing. A page is also not refused if its last visit failed or found that the page is gone, because the
    time of the next visit was then chosen for this reason.
    """
    if record is None or record.last_fetched is None:
        return Gate(True, None, {}, "never fetched")
    until = record.last_fetched + interval
    visited_well = record.failures == 0 and record.state != "gone"
    # a last visit in the future was recorded by a wrong clock
    if visited_well and record.last_fetched <= now < until - min(_SLACK, interval / 10):
        return Gate(False, until, {}, "younger than its interval")
    headers = _validators(record, now)
    return Gate(True, None, headers, "if changed" if headers else "in full")


def _validators(record: PageRecord, now: float) -> dict[str, str]:
    """Return the conditional headers; an empty dict if the page must be fetched in full."""
    # "0 <=": if the last full fetch is in the future, a wrong clock recorded it
    if record.last_full_fetch is None or not 0 <= now - record.last_full_fetch < FULL_FETCH_EVERY:
        return {}
    fields = {"If-None-Match": record.etag, "If-Modified-Since": record.last_modified}
    return {name: value for name, value in fields.items() if value and _is_sendable(value)}


def _is_sendable(value: str) -> bool:
    return value.isascii() and value.isprintable() and len(value) < _MAX_VALIDATOR


PASSING: Final = frozenset({429, 503})
"""Statuses of temporary refusals. A GET request would be refused as well and would add to the load."""
UNWILLING: Final = frozenset({405, 501})
"""Statuses of a server that does not support HEAD requests (RFC 9110, 15.5.6 and 15.6.2)."""


def tells_unchanged(
    record: PageRecord | None, status: int, etag: str | None, last_modified: str | None
) -> bool:
    """Return True if the response to a HEAD request shows that the page has not changed since ``record``.

    The entity tags are compared (weak comparison, RFC 9110, 8.8.3.2). If the response or the record has no
    tag, the dates of the last modification are compared.
    """
    if status == 304:
        return True
    if status != 200 or record is None:
        return False
    if etag and record.etag:
        return etag.removeprefix("W/") == record.etag.removeprefix("W/")
    return bool(last_modified) and last_modified == record.last_modified
