"""``scrapy articles``: all subcommands except import, which has its own file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

from newsbot.alerts import saved as saving
from newsbot.backends import empty_index, open_index, open_rules, open_storage, queued, searching, stored
from newsbot.cli.command import Call
from newsbot.cli.files import atomic_target
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import Column, columns, counted
from newsbot.clock import DAY, system_clock, utc
from newsbot.dedup.index import Near
from newsbot.dedup.story_merge import rebuild, regroup, reunite
from newsbot.errors import ArgumentError, UserError
from newsbot.items import Article, ArticleFilter
from newsbot.operations.exporting.feed import feed_of
from newsbot.operations.exporting.formats import FORMATS, Format, Write, format_of, writer_of
from newsbot.operations.exporting.increment import Following, export_new
from newsbot.operations.move.copying import lines
from newsbot.operations.move.side import WholeFrontier, check_idle
from newsbot.rights import opted_out
from newsbot.search.articles import MAX_COMPARED
from newsbot.search.query import Hit
from newsbot.storage.base import Storage
from newsbot.storage.stories import Story
from newsbot.text.differences import version_lines, version_rows
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


def export(call: Call) -> None:
    """Write articles to a file or to stdout, and print the number of articles on stderr."""
    path = None if str(call.options.output) == "-" else call.options.output
    if call.options.new is not None:
        _export_new(call, path)
        return
    format_ = _export_format(call, path)
    write = _writer_of(call, format_)  # if a package is missing, this raises before a file is opened
    with stored(call.settings) as storage, atomic_target(path) as stream:
        articles = _Counted(call, storage.articles.iter(chosen(call)))
        write(stream, articles, name=path.name if path else "")
    if call.json and path is not None:
        call.document({"file": str(path), "format": format_.name, "articles": articles.count})
    call.note(f"{counted(articles.count, 'article')} exported" + (f" to {path}" if path else ""))


def _export_new(call: Call, path: Path | None) -> None:
    """Write the changes since the last export of the same name to a new numbered file."""
    options = call.options
    if path is None:
        raise ArgumentError("--new needs -o FILE; the file name gets a number, e.g. articles-000001.jsonl")
    if options.since or options.until:
        raise ArgumentError("--new cannot be combined with --since or --until; it continues the last export")
    format_, where = _export_format(call, path), chosen(call)
    write = _writer_of(call, format_)
    kept = {
        "format": format_.name,
        "source": where.source,
        "language": where.language,
        "without_ai": options.without_ai_opt_outs,
    }
    with stored(call.settings) as storage:

        def write_after(stream: BinaryIO, file: Path, cursor: str) -> tuple[int, str]:
            changes = Following(storage.articles, cursor)
            articles = _Counted(call, (one for one in changes.articles() if _matches(one, where)))
            write(stream, articles, name=file.name)
            # The cursor moves while the articles are read, so it is read after the last article was written.
            return articles.count, changes.cursor

        written = export_new(storage.notes, options.new, path, kept, write_after)
    if call.json:
        file = None if written.file is None else str(written.file)
        call.document({"file": file, "format": format_.name, "articles": written.articles})
    if written.finished is not None:
        call.note(f"{written.finished}: the interrupted last export was completed")
    call.note(
        f"{counted(written.articles, 'article')} exported" + (f" to {written.file}" if written.file else "")
    )


def feed(call: Call) -> None:
    """Write the newest articles that match a query as a feed."""
    options = call.options
    path = None if str(options.output) == "-" else options.output
    try:
        _ = options.address and canonicalize(options.address)
    except ValueError as error:
        raise ArgumentError(f"--address: {error}") from error
    with searching(call.settings) as articles:
        data = feed_of(
            articles,
            options.query,
            chosen(call),
            kind=options.format,
            limit=options.limit,
            address=options.address,
        )
    with atomic_target(path) as stream:
        stream.write(data)


class _Counted:
    """Yields articles and counts them.

    With ``--without-ai-opt-outs``, articles whose pages opt out of use by AI are left out.
    """

    def __init__(self, call: Call, articles: Iterable[Article]) -> None:
        self._articles, self._all = articles, not call.options.without_ai_opt_outs
        self.count = 0

    def __iter__(self) -> Iterator[Article]:
        for article in self._articles:
            if self._all or not opted_out(article.rights):
                self.count += 1
                yield article


def _matches(article: Article, where: ArticleFilter) -> bool:
    return where.source in (None, article.source) and where.language in (None, article.language)


def _writer_of(call: Call, format_: Format) -> Write:
    options = {name: True for name in ("raw", "excel") if getattr(call.options, name)}
    if options and format_.name != "csv":
        raise ArgumentError(f"--{next(iter(options))} works only with CSV, not with {format_.name}")
    return partial(writer_of(format_), **options)


def _export_format(call: Call, path: Path | None) -> Format:
    format_ = FORMATS[call.options.format] if call.options.format else format_of(path)
    if path is None and format_.binary and sys.stdout.isatty():
        raise ArgumentError(f"{format_.name} cannot be shown on a terminal; give a file with -o")
    if path is None and call.json and format_.name != "jsonl":
        raise ArgumentError(
            f"--json and --format {format_.name} exclude each other; omit one of them, or add -o FILE"
        )
    return format_


FOLLOWED = 10.0
"""Maximum number of seconds for which the index is updated before a search."""


def search(call: Call) -> None:
    """Find articles by words. The exit code is 0 even if no article is found."""
    options = call.options
    with searching(call.settings) as articles:
        articles.follow(FOLLOWED)
        hits = articles.find(options.query, chosen(call), limit=options.limit, by_time=not options.best_first)
        notes = articles.explain(options.query, found=bool(hits))
        waiting = articles.waiting()
    if waiting:
        call.note(
            f"the index lacks {counted(waiting, 'new article')}; to update it: {PROGRAM} articles index"
        )
    call.listing(
        [_hit_row(hit) for hit in hits],
        columns("time | source | title * | found * | url *"),
        ((_time(h.article), h.article.source, _title(h), h.snippet, h.article.url) for h in hits),
        empty="no article found",
    )
    for note in notes:
        call.note(note)


def counts(call: Call) -> None:
    """Count the articles that match each query, by day, site or language."""
    options = call.options
    if len(options.query) > MAX_COMPARED:
        raise ArgumentError(f"{len(options.query)} queries: at most {MAX_COMPARED} can be compared")
    with searching(call.settings) as articles:
        articles.follow(FOLLOWED)
        found = articles.attention(options.query, chosen(call), utc(system_clock()))
    if call.json:
        call.document(found)
        return
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


def save(call: Call) -> None:
    """Save a search under a name."""
    options = call.options
    with closing(open_storage(call.settings)) as storage:
        kept = saving.save(storage, options.name, options.query, options.tell, system_clock())
    with searching(call.settings) as articles:
        for note in articles.explain(kept.query, found=True):
            call.note(note)
    call.note(f"{kept.name}: saved; notices: {kept.tell}")


def saved(call: Call) -> None:
    """List saved searches."""
    with stored(call.settings) as storage:
        found = saving.saved_searches(storage.notes)
    call.listing(
        [one.plain() for one in found],
        columns("name * | tells | notices > | query *"),
        ((one.name, one.tell, one.number, one.query) for one in found),
        empty=f"no search is saved; to save one, run: {PROGRAM} articles save NAME QUERY --tell daily",
    )


def forget(call: Call) -> None:
    """Delete a saved search."""
    with stored(call.settings) as storage:
        if not saving.forget(storage.notes, call.options.name):
            raise UserError(
                f"{call.options.name}: no saved search has this name; see: {PROGRAM} articles saved"
            )
    call.note(f"{call.options.name}: deleted")


def show(call: Call) -> None:
    """Show all stored data of one article."""
    with stored(call.settings) as storage:
        article = _find(call, storage)
        versions = storage.articles.versions(article.canonical_url) if call.options.versions else None
    if call.json:
        row = article.to_dict()
        call.document(row if versions is None else {**row, "versions": version_rows(versions)})
        return
    for name, value in article.to_dict().items():
        if name not in ("text", "extraction") and value not in (None, [], ""):
            method = article.extraction.get(name)
            shown = ", ".join(value) if isinstance(value, list) else value
            call.text(f"{name:<21}{shown}" + (f"  [{method}]" if method else ""))
    call.text(
        f"{'text by':<21}{article.extraction.get('text', '-')}, {counted(len(article.text), 'character')}"
    )
    for number, line in article.site_lines:
        call.text(f"{'left out':<21}{line}  [repeated on the site's pages; it was before line {number + 1}]")
    call.text("\n" + article.text)
    for line in version_lines(versions or ()):
        call.text(line)


def stories(call: Call) -> None:
    """List stories: groups of articles on the same news."""
    options = call.options
    with stored(call.settings) as storage:
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
                *(_time(one.first), len(one.members)),
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


def index(call: Call) -> None:
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


def reindex(call: Call) -> None:
    """Build the near-duplicate index again from the stored texts. With ``--anew``, empty it first."""
    with stored(call.settings) as storage:
        if call.options.anew:
            with queued(call.settings) as frontier:  # a running crawl would lose its index
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
        call.note(f"{counted(joined, 'article')} joined to stories of similar articles")


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
        raise UserError(f"{url}: no article is stored under this URL; see: {PROGRAM} why '{url}'")
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
