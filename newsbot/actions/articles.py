"""``scrapy articles``: all subcommands except export, feed and import, which have their own files."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from datetime import UTC
from itertools import chain
from typing import Any, cast

from newsbot.actions.articles_export import chosen
from newsbot.alerts import saved as saving
from newsbot.backends import empty_index, open_index, open_rules, open_storage, queued, searching, stored
from newsbot.cli.command import Call
from newsbot.cli.terminal import Column, counted
from newsbot.clock import DAY, system_clock, utc
from newsbot.dedup.index import Near
from newsbot.dedup.story_merge import rebuild, reunite
from newsbot.errors import ArgumentError, UserError
from newsbot.items import Article
from newsbot.operations.move.copying import lines
from newsbot.operations.move.side import WholeFrontier, check_idle
from newsbot.search.articles import MAX_COMPARED
from newsbot.search.query import Hit
from newsbot.storage.base import Storage
from newsbot.storage.stories import Story
from newsbot.text.differences import version_lines, version_rows
from newsbot.urls import canonicalize

FOLLOWED = 10.0
"""Maximum number of seconds for which the index is updated before a search."""


def search(call: Call) -> int:
    """Find articles by words. The exit code is 0 even if no article is found."""
    options = call.options
    with searching(call.settings) as articles:
        articles.follow(FOLLOWED)
        hits = articles.find(options.query, chosen(call), limit=options.limit, by_time=options.by_time)
        notes = articles.explain(options.query, found=bool(hits))
        waiting = articles.waiting()
    if waiting:
        call.note(f"{counted(waiting, 'article')} not searched: not indexed yet; run: scrapy articles index")
    if call.json:
        call.document([_hit_row(hit) for hit in hits])
    elif hits:
        columns = (Column("time"), Column("source"), Column("title", wide=True))
        call.table(
            (*columns, Column("found", wide=True), Column("url", wide=True)),
            ((_time(h.article), h.article.source, _title(h), h.snippet, h.article.url) for h in hits),
        )
    else:
        call.note("no article found")
    for note in notes:
        call.note(note)
    return 0


def counts(call: Call) -> int:
    """Count the articles that match each query, by day, site or language."""
    options = call.options
    if len(options.query) > MAX_COMPARED:
        raise ArgumentError(f"{len(options.query)} queries: at most {MAX_COMPARED} can be compared")
    with searching(call.settings) as articles:
        articles.follow(FOLLOWED)
        found = articles.attention(options.query, chosen(call), utc(system_clock()))
    if call.json:
        call.document(asdict(found))
        return 0
    named = [Column(one.query, "right") for one in found.queries]
    if options.by == "day":
        rows = zip(found.days, *map(found.numbers, found.queries), found.articles, strict=True)
        call.table((Column("day"), *named, Column("all articles", "right")), rows)
    else:
        sums = [one.counts.sites if options.by == "site" else one.counts.languages for one in found.queries]
        names = sorted({*chain(*sums)}, key=lambda name: (-sum(one.get(name, 0) for one in sums), name))
        call.table(
            (Column(options.by), *named), ((name, *(one.get(name, 0) for one in sums)) for name in names)
        )
    for one in found.queries:
        more = "" if one.counts.complete else "more than "
        call.note(f"{one.query}: {more}{one.counts.total} articles")
        for note in one.notes:
            call.note(note)
    return 0


def save(call: Call) -> int:
    """Save a search under a name."""
    options = call.options
    with closing(open_storage(call.settings)) as storage:
        kept = saving.save(storage, options.name, options.query, options.tell, system_clock())
    with searching(call.settings) as articles:
        for note in articles.explain(kept.query, found=True):
            call.note(note)
    call.note(f"{kept.name}: saved; notices: {kept.tell}")
    return 0


def saved(call: Call) -> int:
    """List saved searches."""
    with stored(call.settings) as storage:
        found = saving.saved_searches(storage.notes)
    if call.json:
        call.document([one.plain() for one in found])
    elif found:
        columns = (Column("name", wide=True), Column("tells"), Column("notices", "right"))
        call.table(
            (*columns, Column("query", wide=True)), ((s.name, s.tell, s.number, s.query) for s in found)
        )
    else:
        call.note("no search is saved; save one: scrapy articles save NAME QUERY --tell daily")
    return 0


def forget(call: Call) -> int:
    """Delete a saved search."""
    with stored(call.settings) as storage:
        if not saving.forget(storage.notes, call.options.name):
            raise UserError(f"{call.options.name}: no saved search has this name; see: scrapy articles saved")
    call.note(f"{call.options.name}: deleted")
    return 0


def show(call: Call) -> int:
    """Show all stored data of one article."""
    with stored(call.settings) as storage:
        article = _find(call, storage)
        versions = storage.articles.versions(article.canonical_url) if call.options.versions else None
    if call.json:
        row = article.to_dict()
        call.document(row if versions is None else {**row, "versions": version_rows(versions)})
        return 0
    for name, value in article.to_dict().items():
        if name not in ("text", "extraction") and value not in (None, [], ""):
            method = article.extraction.get(name)
            shown = ", ".join(value) if isinstance(value, list) else value
            call.text(f"{name:<21}{shown}" + (f"  [{method}]" if method else ""))
    call.text(
        f"{'text by':<21}{article.extraction.get('text', '-')}, {counted(len(article.text), 'character')}"
    )
    for number, line in article.site_lines:
        call.text(f"{'left out':<21}{line}  [repeated on the site's pages; was before line {number + 1}]")
    call.text("\n" + article.text)
    for line in version_lines(versions or ()):
        call.text(line)
    return 0


def stories(call: Call) -> int:
    """List stories: groups of articles on the same news."""
    options = call.options
    with stored(call.settings) as storage:
        found = storage.stories.recent(
            since=options.since,
            min_members=options.min_members,
            min_sources=options.min_sources,
            limit=options.limit,
        )
    if call.json:
        call.document([_story_row(story) for story in found])
    elif found:
        columns = (Column("first"), Column("articles", "right"), Column("sites", wide=True))
        call.table(
            (*columns, Column("title", wide=True), Column("url", wide=True)),
            (
                (
                    _time(s.first),
                    len(s.members),
                    ", ".join([s.first.source, *sorted(s.sources - {s.first.source})]),
                    s.first.title,
                    s.first.url,
                )
                for s in found
            ),
        )
    else:
        sites = f" of at least {options.min_sources} sites" if options.min_sources > 1 else ""
        since = f", with one since {options.since:%Y-%m-%d %H:%M}" if options.since else ""
        call.note(f"no story has at least {counted(options.min_members, 'article')}{sites}{since}")
    return 0


def index(call: Call) -> int:
    """Update the search index, or rebuild it (``--anew``)."""
    tell = lines(call.note, {})
    indexed = 0

    def written(so_far: int) -> None:
        nonlocal indexed
        indexed = so_far
        tell("articles", so_far)

    with searching(call.settings) as articles:
        if not call.options.anew:
            articles.follow(tell=written)
        elif not articles.remake(written):
            raise UserError("another process is writing the search index; try again later")
        left = articles.waiting()
    if call.json:
        call.document({"indexed": indexed, "waiting": left})
    call.note(f"{counted(indexed, 'article')} indexed, {left} left")
    return 0


def reindex(call: Call) -> int:
    """Build the near-duplicate index again from the stored texts; with ``--anew`` empty it first."""
    with stored(call.settings) as storage:
        if call.options.anew:
            with queued(call.settings) as frontier:  # a running crawl would lose the index that it uses
                check_idle(cast("WholeFrontier", frontier))
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
        call.note(f"joined to a story of similar articles: {counted(joined, 'article')}")
    return 0


def _find(call: Call, storage: Storage) -> Article:
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
        raise UserError(f"{url}: no article is stored under this URL; see: scrapy why '{url}'")
    return article


def _title(hit: Hit) -> str:
    return hit.article.title + (f" (and {hit.copies} more)" if hit.copies else "")


def _hit_row(hit: Hit) -> dict[str, Any]:
    row = hit.article.to_dict()
    del row["text"]
    return {**row, "snippet": hit.snippet, "score": round(hit.score, 9), "copies": hit.copies}


def _story_row(story: Story) -> dict[str, Any]:
    kept = (
        *("url", "source", "title", "published_at", "fetched_at", "language"),
        *("relation", "similarity", "duplicate_of", "derived_from"),
    )
    rows = [one.to_dict() for one in story.members]
    members = [{name: value for name, value in row.items() if name in kept} for row in rows]
    first = {"url": story.first.url, "source": story.first.source}
    return {"story": story.story, "first": first, "sources": sorted(story.sources), "members": members}


def _time(article: Article) -> str:
    moment = article.published_at or article.fetched_at
    if moment is None:
        return "-"
    day_only = article.published_at is not None and article.published_precision == "day"
    return moment.astimezone(UTC).strftime("%Y-%m-%d" if day_only else "%Y-%m-%d %H:%M")
