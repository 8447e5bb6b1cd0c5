"""``scrapy articles search|show|stories|index|reindex``; export and import have files of their own."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC
from typing import Any, cast

from newsbot.actions.articles_export import chosen
from newsbot.backends import empty_index, open_index, open_rules, queued, stored
from newsbot.cli.command import Call
from newsbot.cli.terminal import Column
from newsbot.clock import DAY, system_clock
from newsbot.dedup.index import Near
from newsbot.dedup.rebuild import rebuild, reunite
from newsbot.errors import ArgumentError, UserError
from newsbot.items import Article
from newsbot.operations.move.copying import lines
from newsbot.operations.move.side import WholeFrontier, check_idle
from newsbot.search.index.searching import MAX_WAITING
from newsbot.search.query import Hit, parse
from newsbot.storage.base import Storage
from newsbot.storage.stories import Story
from newsbot.text.differences import version_lines, version_rows
from newsbot.urls import canonicalize

HELD = "; another process holds the index and does not go on: run it again later"


def search(call: Call) -> int:
    """Find articles by words; exit code 0 also when none is found."""
    options = call.options
    with stored(call.settings) as storage:
        hits = storage.texts.search(options.query, chosen(call), limit=options.limit, by_time=options.by_time)
        waiting = storage.texts.waiting()
    if waiting > MAX_WAITING:
        call.note(
            f"{waiting} articles are not indexed yet, not all were searched; run: scrapy articles index"
        )
    for word in parse(options.query).no_dates:
        call.note(f"{word}: is no date and was looked for as a word; write 2024, 2024-05, 2024-05-31 or 7d")
    if call.json:
        call.document([_hit_row(hit) for hit in hits])
    elif hits:
        columns = (Column("time"), Column("source"), Column("title", wide=True))
        call.table(
            (*columns, Column("found", wide=True), Column("url", wide=True)),
            ((_time(h.article), h.article.source, h.article.title, h.snippet, h.article.url) for h in hits),
        )
    else:
        call.note("no article found")
    return 0


def show(call: Call) -> int:
    """Show all that is stored of one article."""
    with stored(call.settings) as storage:
        article = _find(call, storage)
        versions = storage.articles.versions(article.canonical_url) if call.options.versions else None
    if call.json:
        row = article.as_row()
        call.document(row if versions is None else {**row, "versions": version_rows(versions)})
        return 0
    for name, value in article.as_row().items():
        if name not in ("text", "extraction") and value not in (None, [], ""):
            method = article.extraction.get(name)
            shown = ", ".join(value) if isinstance(value, list) else value
            call.text(f"{name:<21}{shown}" + (f"  [{method}]" if method else ""))
    call.text(f"{'text by':<21}{article.extraction.get('text', '-')}, {len(article.text)} characters")
    call.text("\n" + article.text)
    for line in version_lines(versions or ()):
        call.text(line)
    return 0


def stories(call: Call) -> int:
    """List stories: articles that tell the same thing."""
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
        sites = f" of {options.min_sources} sites" if options.min_sources > 1 else ""
        since = f" and one since {options.since:%Y-%m-%d %H:%M}" if options.since else ""
        call.note(f"no story has {options.min_members} articles{sites}{since}")
    return 0


def index(call: Call) -> int:
    """Bring the word index up to date."""
    with stored(call.settings) as storage:
        words = storage.texts
        before, done = words.waiting(), words.index()
        left = words.waiting()
    if call.json:
        call.document({"indexed": before - left, "waiting": left})
    call.note(f"{before - left} articles indexed, {left} wait" + ("" if done else HELD))
    return 0


def reindex(call: Call) -> int:
    """Make the near-duplicate index anew from the stored texts."""
    with stored(call.settings) as storage:
        if call.options.anew:
            with queued(call.settings) as frontier:
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
    call.note(f"{number} texts of the last {index.keep / DAY:g} days indexed; the index holds {kept}")
    if joined:
        call.note(f"{joined} articles came into one story with others that they resemble")
    return 0


def _find(call: Call, storage: Storage) -> Article:
    url: str = call.options.url
    try:
        article = storage.articles.get(canonicalize(url))
        if article is None:  # the rule may name query keys that tell no pages apart
            article = storage.articles.get(
                canonicalize(url, open_rules(call.settings).for_url(url).drop_query)
            )
    except ValueError as error:
        raise ArgumentError(str(error)) from error
    if article is None:
        raise UserError(f"{url}: no article is stored under this address; see: scrapy why '{url}'")
    return article


def _hit_row(hit: Hit) -> dict[str, Any]:
    row = hit.article.as_row()
    del row["text"]
    return {**row, "snippet": hit.snippet, "score": round(hit.score, 4)}


def _story_row(story: Story) -> dict[str, Any]:
    kept = (
        *("url", "source", "title", "published_at", "fetched_at", "language"),
        *("relation", "similarity", "duplicate_of", "derived_from"),
    )
    members = [{name: value for name, value in one.as_row().items() if name in kept} for one in story.members]
    first = {"url": story.first.url, "source": story.first.source}
    return {"story": story.story, "first": first, "sources": sorted(story.sources), "members": members}


def _time(article: Article) -> str:
    moment = article.published_at or article.fetched_at
    if moment is None:
        return "-"
    day_only = article.published_at is not None and article.published_precision == "day"
    return moment.astimezone(UTC).strftime("%Y-%m-%d" if day_only else "%Y-%m-%d %H:%M")
