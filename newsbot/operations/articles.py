"""Shows articles and stories, and builds the near-duplicate index again."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC
from typing import Any, cast

from newsbot.backends import empty_index, open_index, open_rules, queued, stored
from newsbot.cli.command import Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, counted, lines
from newsbot.clock import DAY, system_clock
from newsbot.dedup.index import Near
from newsbot.dedup.story_merge import rebuild, regroup, reunite
from newsbot.errors import ArgumentError, UserError
from newsbot.frontier.base import FrontierTransfer
from newsbot.frontier.owners import check_idle
from newsbot.items import Article, ArticleFilter, Medium
from newsbot.pages.text.differences import version_lines, version_rows
from newsbot.sites.statistics import size
from newsbot.storage.base import Storage
from newsbot.storage.stories import Story
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


def stories(call: Call) -> None:
    """List stories: groups of articles on the same news."""
    options = call.options
    with stored(call.settings, stale=True) as storage:
        found = storage.stories.recent(
            since=options.since,
            min_members=options.min_members,
            min_sources=options.min_sources,
            limit=options.limit,
        )
    sites = f" of at least {options.min_sources} sites" if options.min_sources > 1 else ""
    since = f", with an article since {options.since:%Y-%m-%d %H:%M}" if options.since else ""
    call.listing(
        [_story_row(story) for story in found],
        columns("first | articles > | sites * | title * | url *"),
        (
            (
                *(time_of(one.first), len(one.members)),
                ", ".join([one.first.source, *sorted(one.sources - {one.first.source})]),
                *(one.first.title, one.first.url),
            )
            for one in found
        ),
        empty=f"no story has at least {counted(options.min_members, 'article')}{sites}{since}",
    )


def split(call: Call) -> None:
    """Split a story into the groups of articles that belong together."""
    with stored(call.settings) as storage:
        members = list(storage.articles.iter(ArticleFilter(story=call.options.story)))
        if not members:
            raise ArgumentError(
                f"there is no story {call.options.story}; to list stories, run: "
                f"{PROGRAM} articles stories --json"
            )
        groups = regroup(members)
        ids = storage.stories.split([[one.canonical_url for one in group] for group in groups])
    rows = [
        {"story": name, "articles": [one.canonical_url for one in group]}
        for name, group in zip(ids, groups, strict=True)
    ]
    if call.json:
        call.document({"stories": rows})
        return
    for row in rows:
        call.text(f"{row['story']}: {', '.join(row['articles'])}")
    if len(groups) == 1:
        call.note("the articles belong together; nothing was changed")


def reindex(call: Call) -> None:
    """Build the near-duplicate index again from the stored texts. With ``--anew``, empty it first."""
    with stored(call.settings) as storage:
        if call.options.anew:
            with queued(call.settings) as frontier:  # a running crawl would lose its index
                check_idle(cast("FrontierTransfer", frontier))
            empty_index(call.settings)
        tell = lines(call.note, {})
        with closing(open_index(call.settings)) as index:
            joined = 0

            def meet(article: Article, near: list[Near]) -> None:
                nonlocal joined
                joined += reunite(storage, article, near)

            number = rebuild(storage, index, system_clock(), lambda so_far: tell("texts", so_far), met=meet)
            kept = index.count()
    if call.json:
        call.document({"indexed": number, "kept": kept, "joined": joined})
    call.note(
        f"{counted(number, 'text')} of the last {index.keep / DAY:g} days indexed; the index holds {kept}"
    )
    if joined:
        call.note(f"{counted(joined, 'article')} joined to stories of similar articles")


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


def _story_row(story: Story) -> dict[str, Any]:
    kept = (
        *("url", "source", "title", "published_at", "fetched_at", "language"),
        *("relation", "similarity", "duplicate_of", "derived_from"),
    )
    rows = [one.to_dict() for one in story.members]
    members = [{name: value for name, value in row.items() if name in kept} for row in rows]
    first = {"url": story.first.url, "source": story.first.source}
    return {"story": story.story, "first": first, "sources": sorted(story.sources), "members": members}


def time_of(article: Article) -> str:
    """Return the time of publication, or of the fetch, for people; "-" if both are unknown."""
    moment = article.published_at or article.fetched_at
    if moment is None:
        return "-"
    day_only = article.published_at is not None and article.published_precision == "day"
    return moment.astimezone(UTC).strftime("%Y-%m-%d" if day_only else "%Y-%m-%d %H:%M")
