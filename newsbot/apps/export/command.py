"""``scrapy articles export`` and ``scrapy articles feed``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from newsbot.apps.export.feed import feed_of
from newsbot.apps.export.formats import FORMATS, Format, Write, format_of, writer_of
from newsbot.apps.export.increment import Following, export_new
from newsbot.apps.files import atomic_target
from newsbot.apps.operations.articles import chosen
from newsbot.apps.search.articles import open_search, searching
from newsbot.backends import stored
from newsbot.cli.command import Call
from newsbot.cli.terminal import counted
from newsbot.errors import ArgumentError
from newsbot.items import Article, ArticleFilter
from newsbot.pages.rights import opted_out
from newsbot.urls import canonicalize


def export(call: Call) -> None:
    """Write articles to a file or to stdout, and print the number of articles on stderr."""
    path = None if str(call.options.output) == "-" else call.options.output
    if call.options.new is not None:
        _export_new(call, path)
        return
    format_ = _export_format(call, path)
    write = _writer_of(call, format_)  # if a package is missing, this raises before a file is opened
    query, where = call.options.query, chosen(call)
    with ExitStack() as opened:
        storage = opened.enter_context(stored(call.settings, stale=True))
        found = storage.articles.iter(where)
        if query.strip():
            search = opened.enter_context(closing(open_search(call.settings, storage)))
            search.follow()
            found = search.every(query, where)
            for note in search.explain(query, found=True):
                call.note(note)
        stream = opened.enter_context(atomic_target(path))
        articles = _Counted(call, found)
        write(stream, articles, name=path.name if path else "")
    if call.json and path is not None:
        call.document({"file": str(path), "format": format_.name, "articles": articles.count})
    call.note(f"{counted(articles.count, 'article')} exported" + (f" to {path}" if path else ""))


def _export_new(call: Call, path: Path | None) -> None:
    """Write the changes since the last export of the same name to a new numbered file."""
    options = call.options
    if path is None:
        raise ArgumentError("--new needs -o FILE; the file name gets a number, e.g. articles-000001.jsonl")
    if options.query:
        raise ArgumentError("--new cannot be combined with --query; a sink can have a query (docs/sinks.md)")
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
    options: dict[str, Any] = {name: True for name in ("raw", "excel") if getattr(call.options, name)}
    if options and format_.name != "csv":
        raise ArgumentError(f"--{next(iter(options))} works only with CSV, not with {format_.name}")
    if format_.name == "wacz":
        if not (folder := call.settings.get("NEWSBOT_WARC_DIR")):
            raise ArgumentError("wacz contains archived pages, but NEWSBOT_WARC_DIR is not set")
        options["folder"] = Path(folder).expanduser()
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
