"""``scrapy articles export`` and ``scrapy articles feed``.

An incremental export continues where the last export of the same name ended. No version of an article is
exported twice. The state is a note in the storage, with the cursor after the last exported change. An export
has four steps:

1. Write the file under a temporary name.
2. Record in the note that the file will be renamed.
3. Rename the file.
4. Record in the note that the export is complete.

If the export crashes after step 2, the next export looks for the temporary file. If this file is missing, it
was renamed, so the crashed export is complete. Otherwise the changes are exported again.
"""

from __future__ import annotations

import fcntl
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from newsbot.apps.export.formats import FORMATS, Format, Write, feed_of, format_of, writer_of
from newsbot.apps.files import atomic_target
from newsbot.apps.operations.articles import chosen
from newsbot.apps.search.articles import open_search, searching
from newsbot.backends import stored
from newsbot.cli.command import Call
from newsbot.cli.terminal import counted
from newsbot.errors import ArgumentError, UserError
from newsbot.items import Article, ArticleFilter
from newsbot.pages.rights import opted_out
from newsbot.storage.articles import Articles
from newsbot.storage.notes import Notes
from newsbot.urls import canonicalize

KIND = "export"
_AT_ONCE = 100
"""Maximum number of articles that are in memory at the same time."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

WriteChanges = Callable[[BinaryIO, Path, str], tuple[int, str]]
"""A function that writes all changes after a cursor to a stream.

It takes the stream, the path that the file will have, and the cursor. The cursor is explained at
:meth:`newsbot.storage.articles.Articles.changes_since`. The function returns the number of articles and the
cursor after the last change.
"""


class Following:
    """The changed articles after a cursor, up to the current end of the changes."""

    def __init__(self, articles: Articles, cursor: str) -> None:
        self._articles = articles
        self.cursor = cursor
        """The position after the last article that was yielded."""

    def articles(self) -> Iterator[Article]:
        """Yield the articles in the order of the changes. Removed articles are left out."""
        while True:
            changes = self._articles.changes_since(self.cursor, _AT_ONCE)
            yield from (one.article for one in changes.found if one.article is not None)
            # The cursor is moved only after all articles of the batch were yielded, so it never skips an
            # article.
            self.cursor = changes.cursor
            if len(changes.found) < _AT_ONCE:
                return


@dataclass(frozen=True, slots=True)
class Written:
    """The result of an export. ``file`` is None if there were no new articles."""

    file: Path | None
    articles: int
    finished: Path | None = None
    """The file of an earlier export that was complete, but not yet recorded when that export crashed."""


def export_new(notes: Notes, name: str, path: Path, options: dict[str, Any], write: WriteChanges) -> Written:
    """Write the changes since the last export called ``name`` to a numbered file in the folder of ``path``.

    ``options`` has the options of the export (JSON-serializable). They must be the same for all exports of a
    name. Raises :class:`ArgumentError` for a bad name, or if the options differ from those of the last
    export, :class:`UserError` if the file cannot be written or another export of this name is running, and
    subclasses of :class:`newsbot.errors.DataError`.
    """
    if not _NAME.fullmatch(name):
        raise ArgumentError(f"--new {name}: use at most 64 letters, digits, dots, hyphens and underscores")
    path = path.expanduser().absolute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.parent, name):
            return _Export(notes, name, path).run(options, write)
    except BlockingIOError as error:
        raise UserError(f"{name}: another export with this name is running; try again later") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from error


class _Export:
    def __init__(self, notes: Notes, name: str, path: Path) -> None:
        self._notes, self._name, self._path = notes, name, path
        self._part = path.with_name(f".{name}.export.part")
        self._state: dict[str, Any] = notes.all(KIND).get(name, {})

    def run(self, options: dict[str, Any], write: WriteChanges) -> Written:
        if self._state.get("options", options) != options:
            raise ArgumentError(f"{self._name}: the last export had other options; repeat them or rename it")
        finished = self._finish_last()
        number = int(self._state.get("number", 0)) + 1
        file = _numbered(self._path, number)
        count, cursor = self._write(write, file, str(self._state.get("cursor", "")))
        # If there are no new articles, no file is written, and the next export can use the number.
        state = {"cursor": cursor, "number": number - (not count), "options": options}
        if count:
            if file.exists():
                raise UserError(f"{file}: exists and is not an export of {self._name}; move or rename it")
            self._save(self._state | {"options": options, "pending": {**state, "file": str(file)}})
            self._part.replace(file)
            _sync(file.parent)  # the rename must be on disk before the note says that it is complete
        else:
            self._part.unlink()
        self._save(state)
        return Written(file if count else None, count, finished)

    def _finish_last(self) -> Path | None:
        """Complete the state of an interrupted export, or undo it. Return the file if it was complete."""
        pending = self._state.pop("pending", None)
        if pending is None or self._part.exists():
            return None  # the file was not renamed, so the changes are exported again
        file = Path(pending.pop("file"))
        self._save(pending)
        return file

    def _write(self, write: WriteChanges, file: Path, cursor: str) -> tuple[int, str]:
        with self._part.open("wb") as stream:
            written = write(stream, file, cursor)
            stream.flush()
            # The content must be on disk before step 2. Otherwise the renamed file may be empty after a power
            # failure.
            os.fsync(stream.fileno())
        return written

    def _save(self, state: dict[str, Any]) -> None:
        self._state = state
        self._notes.save(KIND, self._name, state)


@contextmanager
def _alone(folder: Path, name: str) -> Iterator[None]:
    """Hold a lock for exports of this name in the folder. Raises ``BlockingIOError`` if it is taken."""
    with (folder / f".{name}.export.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def _numbered(path: Path, number: int) -> Path:
    # The name is split at the first dot, so that an ending such as .warc.gz stays whole.
    stem, dot, suffix = path.name.partition(".")
    return path.with_name(f"{stem}-{number:06}{dot}{suffix}")


def _sync(folder: Path) -> None:
    """Write the entries of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
