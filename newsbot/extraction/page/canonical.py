"""Finds the canonical URL that a page states, and checks whether it can be trusted."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from newsbot import urls
from newsbot.extraction.page.page import Page
from newsbot.extraction.page.variants import AMP_CACHE, VARIANT_STEPS


def canonical_url(page: Page, drop_query: tuple[str, ...] = (), stated: str | None = None) -> tuple[str, str]:
    """Return the canonical URL of the page and the method: ``rule``, ``link``, ``og`` or ``url``.

    ``drop_query`` are the parameters that the site's rule removes from URLs. ``stated`` is the URL that the
    rule's selectors gave. A URL that the page or the rule states is trusted only if it is on the same site. A
    home page is trusted only as the URL of a home page, because some sites state it on every page. Raises
    ``ValueError`` if the page's own URL is not absolute.
    """
    own = urls.canonicalize(page.url, drop_query)
    for method, value in (
        ("rule", stated),
        ("link", next(iter(page.links.get("canonical", ())), None)),
        ("og", page.meta("og:url") or None),
    ):
        found = _believed(value, page, own, drop_query) if value else None
        if found is not None:
            return found, method
    return own, "url"


def _believed(value: str, page: Page, own: str, drop_query: tuple[str, ...]) -> str | None:
    """Return the canonical form of the stated URL ``value`` if it can be trusted, else None.

    ``own`` is the canonical form of the page's own URL.
    """
    resolved = urls.resolve(page.url, value)
    if resolved is None:
        return None
    try:
        found = urls.canonicalize(resolved, drop_query)
    except ValueError:
        return None
    # A text that several sites publish may state its URL on the site of the original publisher.
    target, source = urlsplit(found), urlsplit(own)
    if urls.site_of(target.hostname or "") != urls.site_of(source.hostname or "") and not _is_kept_for(
        source, target
    ):
        return None
    if _is_front(found) and not _is_front(own):
        return None
    if (
        len(target.path) < len(source.path)
        and source.path.startswith(target.path.rstrip("/") + "/")
        and not _same_story(target.path)
        and source.path[len(target.path) :].strip("/").lower() not in VARIANT_STEPS
    ):
        return None  # some sites state the section as the canonical URL of its articles
    return found


def _is_kept_for(source: SplitResult, target: SplitResult) -> bool:
    """True if ``source`` is a copy of an AMP page in Google's cache and ``target`` its original.

    The path of the copy begins with the host of the original.
    """
    return (source.hostname or "").endswith(AMP_CACHE) and (target.hostname or "") in source.path.split("/")[
        :4
    ]


def _is_front(url: str) -> bool:
    """True for the URL of a home page."""
    parts = urlsplit(url)
    return (
        parts.path.strip("/") in ("", "index.html", "index.php", "home", "en", "ru", "ua", "uk")
        and not parts.query
    )


def _same_story(path: str) -> bool:
    """True for a path that can name an article: it has a number or a long last part."""
    last = path.rstrip("/").rsplit("/", 1)[-1]
    return (
        any(sign.isdigit() for sign in last)
        or last.count("-") >= 2
        or last.endswith((".html", ".htm", ".shtml", ".php"))
    )
