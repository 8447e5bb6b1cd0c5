"""HEAD before GET: for servers that tell a page's version, yet send it whole although it is unchanged."""

from __future__ import annotations

from typing import Final

from newsbot.items import PageRecord

PASSING: Final = frozenset({429, 503})
"""Answers about the moment, not about HEAD: a GET would make it worse."""
UNWILLING: Final = frozenset({405, 501})
"""The server does not know HEAD (RFC 9110, 15.5.6 and 15.6.2)."""


def tells_unchanged(
    record: PageRecord | None, status: int, etag: str | None, last_modified: str | None
) -> bool:
    """Return True if an answer to HEAD says that a page is as it was when ``record`` was written.

    By the entity tag (weak comparison, RFC 9110, 8.8.3.2), or by the date where one side has no tag.
    """
    if status == 304:
        return True
    if status != 200 or record is None:
        return False
    if etag and record.etag:
        return etag.removeprefix("W/") == record.etag.removeprefix("W/")
    return bool(last_modified) and last_modified == record.last_modified
