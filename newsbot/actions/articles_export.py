"""``scrapy articles export`` and ``scrapy articles feed``, and the filter from the options of both."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import BinaryIO

from newsbot.backends import searching, stored
from newsbot.cli.command import Call
from newsbot.cli.terminal import counted
from newsbot.errors import ArgumentError
from newsbot.items import Article, ArticleFilter
from newsbot.operations.exporting import (
    FORMATS,
    Following,
    Format,
    Writer,
    WriterType,
    atomic_target,
    export_new,
    format_of,
    writer_of,
)
from newsbot.operations.exporting.feed import feed_of
from newsbot.rights.directives import opted_out
from newsbot.urls import canonicalize


def chosen(call: Call) -> ArticleFilter:
    """Return the filter that the options describe, by site, language, and bounds of the time.

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


def export(call: Call) -> int:
    """Write articles to a file or to stdout. Their number is printed on stderr."""
    path = None if str(call.options.output) == "-" else call.options.output
    if call.options.new is not None:
        return _export_new(call, path)
    format_ = _export_format(call, path)
    make_writer = _writer_of(call, format_)  # raises before the file is opened if a package is missing
    with stored(call.settings) as storage, atomic_target(path) as stream:
        writer = make_writer(stream, name=path.name if path else "")
        count = _write(call, writer, storage.articles.iter(chosen(call)))
    if call.json and path is not None:
        call.document({"file": str(path), "format": format_.name, "articles": count})
    call.note(f"{counted(count, 'article')} exported" + (f" to {path}" if path else ""))
    return 0


def _export_new(call: Call, path: Path | None) -> int:
    """Write the changes since the last export of the same name to a new numbered file."""
    options = call.options
    if path is None:
        raise ArgumentError("--new needs -o FILE; the file name gets a number, e.g. articles-000001.jsonl")
    if options.since or options.until:
        raise ArgumentError("--new takes no --since and no --until: it continues after the last export")
    format_, where = _export_format(call, path), chosen(call)
    make_writer = _writer_of(call, format_)
    kept = {
        "format": format_.name,
        "source": where.source,
        "language": where.language,
        "without_ai": options.without_ai_opt_outs,
    }
    with stored(call.settings) as storage:

        def write(stream: BinaryIO, file: Path, cursor: str) -> tuple[int, str]:
            changes = Following(storage.articles, cursor)
            chosen = (one for one in changes.articles() if _matches(one, where))
            return _write(call, make_writer(stream, name=file.name), chosen), changes.cursor

        written = export_new(storage.notes, options.new, path, kept, write)
    if call.json:
        file = None if written.file is None else str(written.file)
        call.document({"file": file, "format": format_.name, "articles": written.articles})
    if written.finished is not None:
        call.note(f"{written.finished}: is complete, although the last export was interrupted")
    call.note(
        f"{counted(written.articles, 'article')} exported" + (f" to {written.file}" if written.file else "")
    )
    return 0


def feed(call: Call) -> int:
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
    return 0


def _write(call: Call, writer: Writer, articles: Iterable[Article]) -> int:
    """Write the articles and the end of the file; return their number.

    With ``--without-ai-opt-outs``, articles whose pages opt out of use by AI are left out.
    """
    count = 0
    for article in articles:
        if not (call.options.without_ai_opt_outs and opted_out(article.rights)):
            writer.write(article)
            count += 1
    writer.close()
    return count


def _matches(article: Article, where: ArticleFilter) -> bool:
    return where.source in (None, article.source) and where.language in (None, article.language)


def _writer_of(call: Call, format_: Format) -> WriterType:
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
            f"--json and --format {format_.name} exclude each other; leave one out or add -o FILE"
        )
    return format_
