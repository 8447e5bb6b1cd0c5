"""Compares the last check of a page with the check of an earlier run."""

from __future__ import annotations

from newsbot.storage.spider_results import CheckedPage, PageCheck

STATUS, TARGET, TYPE, SERVER, SIZE, NEW, CONTENT = (
    "status",
    "target",
    "type",
    "server",
    "size",
    "new",
    "content",
)
WEIGHT = {STATUS: 0, TARGET: 1, TYPE: 2, SIZE: 3, SERVER: 4, NEW: 5}
"""The sort order of the kinds of changes, the most important first. Changes of content are only counted."""
SIZE_FACTOR = 2.0
"""A page is listed if its size grew or shrank by at least this factor."""


def changes_of(page: CheckedPage) -> dict[str, tuple[str, str]]:
    """Return the changes of a page by kind, each as a pair of texts (before, now).

    A page without an earlier check has only the kind ``new``.
    """
    now, before = page.last, page.before
    if before is None:
        return {NEW: ("", now.outcome)}
    told = {STATUS: (before.outcome, now.outcome)}
    if _answered(before) and _answered(now):
        told[TARGET] = (_target(before), _target(now))
        told[TYPE] = (_media(before), _media(now))
        told[SERVER] = (before.server or "", now.server or "")
        told[SIZE] = _sizes(before, now)
        told[CONTENT] = (_validator(before), _validator(now))
    # Servers may omit these headers in some responses, for example in a 304. So a missing value is not a
    # change.
    kinds_told = (TYPE, SERVER, CONTENT)
    return {
        kind: both
        for kind, both in told.items()
        if both[0] != both[1] and not (kind in kinds_told and not all(both))
    }


def _answered(check: PageCheck) -> bool:
    return check.status is not None and check.status < 400


def _target(check: PageCheck) -> str:
    return check.hops[-1][1] if check.hops else ""


def _media(check: PageCheck) -> str:
    return (check.content_type or "").partition(";")[0].strip().lower()


def _validator(check: PageCheck) -> str:
    return check.etag or check.last_modified or ""


def _sizes(before: PageCheck, now: PageCheck) -> tuple[str, str]:
    """Return both sizes if they differ by :data:`SIZE_FACTOR` or more, otherwise empty texts.

    The size of a response to HEAD is not compared with the size of a response to GET, because HEAD may report
    the size in another encoding.
    """
    if not before.size or not now.size or before.method != now.method:
        return "", ""
    factor = max(before.size, now.size) / min(before.size, now.size)
    return (str(before.size), str(now.size)) if factor >= SIZE_FACTOR else ("", "")
