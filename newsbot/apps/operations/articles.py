"""Finds and shows stored articles."""

from __future__ import annotations

from datetime import UTC

from newsbot.apps.numbers import size
from newsbot.backends import open_rules, stored
from newsbot.cli.command import Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import counted
from newsbot.errors import ArgumentError, UserError
from newsbot.items import Article, ArticleFilter, Medium
from newsbot.pages.text.differences import version_lines, version_rows
from newsbot.storage.base import Storage
from newsbot.urls import canonicalize


def chosen(call: Call) -> ArticleFilter:
    """Return the filter for the options ``--source``, ``--language``, ``--since`` and ``--until``.

    Raises :class:`ArgumentError` if no article can match.
    """
    options = call.options
    if options.since and options.until and options.since >= options.until:
        raise ArgumentError("--since must be before --until; otherwise no article matches")
    return ArticleFilter(
        source=options.source and options.source.lower(),
        language=options.language and options.language.lower(),
        since=options.since,
        until=options.until,
    )


def show(call: Call) -> None:
    """Show all stored data of one article."""
    with stored(call.settings, stale=True) as storage:
        article = find_article(call, storage)
        versions = storage.articles.versions(article.canonical_url) if call.options.versions else None
    if call.json:
        row = article.to_dict()
        call.document(row if versions is None else {**row, "versions": version_rows(versions)})
        return
    for name, value in article.to_dict().items():
        if name not in ("text", "extraction", "media") and value not in (None, [], ""):
            method = article.extraction.get(name)
            shown = ", ".join(value) if isinstance(value, list) else value
            call.text(f"{name:<21}{shown}" + (f"  [{method}]" if method else ""))
    for one in article.media:
        call.text(f"{'media':<21}{_medium(one)}")
    call.text(
        f"{'text by':<21}{article.extraction.get('text', '-')}, {counted(len(article.text), 'character')}"
    )
    for number, line in article.site_lines:
        call.text(f"{'left out':<21}{line}  [repeated on the site's pages; it was before line {number + 1}]")
    call.text("\n" + article.text)
    for line in version_lines(versions or ()):
        call.text(line)


def _medium(one: Medium) -> str:
    pixels = f"{one.get('width', '?')}×{one.get('height', '?')}" if {"width", "height"} & one.keys() else ""
    length = size(one["bytes"]) if "bytes" in one else ""
    stated = filter(None, (one["type"], one.get("mime"), pixels, length, one["url"]))
    return " ".join(stated) + (f"  [{one['caption']}]" if "caption" in one else "")


def find_article(call: Call, storage: Storage) -> Article:
    """Return the article with the URL of the options. Raises :class:`UserError` if there is none."""
    url: str = call.options.url
    try:
        article = storage.articles.get(canonicalize(url))
        if article is None:  # search again without the query parameters that the rule drops
            article = storage.articles.get(
                canonicalize(url, open_rules(call.settings).for_url(url).drop_query)
            )
    except ValueError as error:
        raise ArgumentError(str(error)) from error
    if article is None:
        raise UserError(f"{url}: no article is stored under this URL; see: {PROGRAM} why '{url}'")
    return article


def time_of(article: Article) -> str:
    """Return the time of publication, or of the fetch, for people; "-" if both are unknown."""
    moment = article.published_at or article.fetched_at
    if moment is None:
        return "-"
    day_only = article.published_at is not None and article.published_precision == "day"
    return moment.astimezone(UTC).strftime("%Y-%m-%d" if day_only else "%Y-%m-%d %H:%M")
