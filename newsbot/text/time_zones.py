"""Finds the UTC offset of a time zone by the name that pages and feeds write."""

from __future__ import annotations

HOURS = {
    "z": 0.0, "ut": 0.0, "utc": 0.0, "gmt": 0.0, "wet": 0.0, "bst": 1.0, "west": 1.0, "wat": 1.0, "cet": 1.0,
    "mez": 1.0, "cat": 2.0, "sast": 2.0, "cest": 2.0, "mesz": 2.0, "eet": 2.0, "eest": 3.0, "idt": 3.0,
    "eat": 3.0, "msk": 3.0, "мск": 3.0, "trt": 3.0, "gst": 4.0, "pkt": 5.0, "ist": 5.5, "npt": 5.75,
    "wib": 7.0, "ict": 7.0, "hkt": 8.0, "sgt": 8.0, "myt": 8.0, "pht": 8.0, "wita": 8.0, "awst": 8.0,
    "wit": 9.0, "jst": 9.0, "kst": 9.0, "acst": 9.5, "aest": 10.0, "acdt": 10.5, "aedt": 11.0, "nzst": 12.0,
    "nzdt": 13.0, "nst": -3.5, "ndt": -2.5, "ast": -4.0, "adt": -3.0, "est": -5.0, "edt": -4.0, "et": -5.0,
    "cst": -6.0, "cdt": -5.0, "ct": -6.0, "mst": -7.0, "mdt": -6.0, "mt": -7.0, "pst": -8.0, "pdt": -7.0,
    "pt": -8.0, "akst": -9.0, "akdt": -8.0, "hst": -10.0, "brt": -3.0, "art": -3.0,
    "met": 1.0, "mest": 2.0, "msd": 4.0,
}  # fmt: skip
"""Hours ahead of UTC by name of the zone.

Single letters other than Z are left out, because RFC 2822 (4.3) calls them unreliable.
"""
_SUMMER = frozenset({"et", "ct", "mt", "pt"})
"""Names that stand for standard time in winter and for summer time in summer."""
_ELSEWHERE = {("cst", "zh"): 8.0, ("ist", "he"): 2.0, ("ist", "ga"): 1.0, ("bst", "bn"): 6.0}
"""Hours ahead of UTC by name and language, for names that mean another zone on pages in this language."""


def hours_ahead(zone: str, month: int, language: str | None = None) -> float | None:
    """Return how many hours a zone is ahead of UTC in a month, or None if its name is unknown.

    ``month`` (1 to 12) decides between standard and summer time: "ET" is EST in winter and EDT in summer.
    ``language`` is the language of the page.
    """
    name = zone.lower()
    hours = _ELSEWHERE.get((name, (language or "")[:2])) or HOURS.get(name)
    # From April to October, summer time is assumed. The exact days on which the time changes are ignored.
    return hours + 1 if hours is not None and name in _SUMMER and 3 < month < 11 else hours
