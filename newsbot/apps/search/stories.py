"""``scrapy articles stories``, ``split`` and ``reindex``: stories, and the index of near-duplicates."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from newsbot.apps.operations.articles import time_of
from newsbot.backends import data_file, open_index, queued, stored
from newsbot.cli.command import Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, counted, lines
from newsbot.clock import DAY, system_clock
from newsbot.config.apps import backend
from newsbot.config.settings import SettingsLike
from newsbot.dedup import sqlite as near_index
from newsbot.dedup.index import Near
from newsbot.dedup.story_merge import rebuild, regroup, reunite
from newsbot.errors import ArgumentError
from newsbot.frontier.base import check_idle
from newsbot.items import Article, ArticleFilter
from newsbot.storage.articles import Story


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
                check_idle(frontier)
            _empty_index(call.settings)
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


def _story_row(story: Story) -> dict[str, Any]:
    kept = (
        *("url", "source", "title", "published_at", "fetched_at", "language"),
        *("relation", "similarity", "duplicate_of", "derived_from"),
    )
    rows = [one.to_dict() for one in story.members]
    members = [{name: value for name, value in row.items() if name in kept} for row in rows]
    first = {"url": story.first.url, "source": story.first.source}
    return {"story": story.story, "first": first, "sources": sorted(story.sources), "members": members}


def _empty_index(settings: SettingsLike) -> None:
    """Delete the near-duplicate index, whatever its version is. Raises :class:`newsbot.errors.DataError`."""
    if address := settings.get("REDIS_URL"):
        backend("indexes", address).empty(settings)
        return
    near_index.empty(data_file(settings))
