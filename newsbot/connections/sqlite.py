"""Opens the embedded data file, and provides schema versions, transactions and readable errors.

The frontier, the storage and the near-duplicate index keep their tables in one SQLite file. Each of them has
its own schema version, so that each can be moved to a server separately.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from newsbot.errors import MAX_QUOTE, DataDamaged, DataError, DataFull, DataUnavailable, SchemaError
from newsbot.items import batched

BUSY_SECONDS = 30.0
"""Timeout in seconds for opening the file while other processes open or migrate it."""
LOCK_SECONDS = 5.0
"""Timeout in seconds for the lock of a transaction.

The timeout is short, because the crawl is blocked while it waits.
"""
MAX_KEYS = 500
"""Maximum number of keys in one query. Every build of SQLite allows this number of parameters."""
OLDEST_SQLITE = (3, 35, 0)  # needed for UPDATE … RETURNING


def migrations_in(folder: str) -> dict[int, str]:
    """Return the SQL scripts of ``migrations/`` in a folder of the package.

    The keys are the numbers of the files: ``20_tables.sql`` makes version 20. The first script makes all
    tables. A script is never changed after its release. A new version of the tables needs a new script.
    """
    scripts = (files("newsbot").joinpath(*folder.split("/")) / "migrations").iterdir()
    return {
        int(script.name.partition("_")[0]): script.read_text(encoding="utf8")
        for script in scripts
        if script.name.endswith(".sql")
    }


def open_database(path: Path, *, component: str, migrations: Mapping[int, str]) -> sqlite3.Connection:
    """Open or create the file, and migrate the tables of ``component`` to the newest version.

    ``migrations[n]`` is the SQL script from version n - 1 to n (:func:`migrations_in`). The connection is in
    autocommit mode: use :func:`transaction` to write. Raises subclasses of :class:`DataError`.
    """
    with readable_errors(path):
        _check_library()
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise DataUnavailable(
                f"{path.parent}: cannot be created ({error.strerror}); set NEWSBOT_DATA to a writable folder"
            ) from error
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            _use_wal(connection)
            # In WAL mode, the level NORMAL cannot corrupt the file, but a power failure may undo the last
            # transactions.
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA cache_size=-65536")  # KiB
            # The limit is in bytes. A large transaction makes the WAL file large. SQLite then truncates it.
            connection.execute("PRAGMA journal_size_limit=67108864")
            _migrate(connection, path, component, migrations)
            # This is set after the migration, which sorts new indexes in the temporary store. In memory, this
            # would need 1 GB for 10^7 pages.
            connection.execute("PRAGMA temp_store=MEMORY")
            # The short timeout is set last, because opening may wait for a migration. The crawl must not wait
            # that long for a lock.
            connection.execute(f"PRAGMA busy_timeout={min(LOCK_SECONDS, BUSY_SECONDS) * 1000:.0f}")
        except BaseException:
            connection.close()
            raise
        return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging (https://sqlite.org/wal.html).

    SQLite does not wait for a lock here. If several processes open a new file at the same time, the call
    fails immediately, so it is repeated for up to :data:`BUSY_SECONDS`.
    """
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            # startswith() includes extended codes such as SQLITE_BUSY_RECOVERY
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Run the block as one atomic write transaction. If it raises, nothing is written."""
    # IMMEDIATE takes the write lock now. In a transaction that begins with a read, the first write would fail
    # without waiting if another process has written in the meantime.
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")  # this can fail, for example if the disk is full
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Let all reads in the block see one consistent snapshot, while other processes write."""
    connection.execute("BEGIN")
    try:
        yield connection
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def select_in(connection: sqlite3.Connection, query: str, keys: Iterable[bytes]) -> Iterator[sqlite3.Row]:
    """Yield the rows of a query that ends in ``WHERE column IN``, for any number of keys."""
    for some in batched(dict.fromkeys(keys), MAX_KEYS):
        yield from connection.execute(f"{query} ({', '.join('?' * len(some))})", some)


@contextmanager
def readable_errors(path: Path) -> Iterator[None]:
    """Convert errors of SQLite to subclasses of :class:`DataError`.

    The messages name the file and a remedy.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(path, error) from error
    # Stored texts that are not in the form in which they were written. The message of the error has the text.
    except (UnicodeDecodeError, json.JSONDecodeError, zlib.error):
        raise DataDamaged(f"{path}: {DAMAGED}") from None


DAMAGED = "is damaged; restore a backup, or repair it with .recover in sqlite3"
_FAULTS: tuple[tuple[tuple[str, ...], type[DataError], str], ...] = (
    (("SQLITE_FULL",), DataFull, "the disk is full; free some space (stored data are safe)"),
    (
        ("SQLITE_BUSY", "SQLITE_LOCKED"),
        DataUnavailable,
        "is locked by another program, such as a sqlite3 shell or a backup; close that program",
    ),
    (
        ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"),
        DataUnavailable,
        "cannot be written; check its permissions or set NEWSBOT_DATA to another folder",
    ),
    (
        ("SQLITE_NOTADB",),
        SchemaError,
        "is not a newsbot data file; move it away or set NEWSBOT_DATA to another folder",
    ),
    (("SQLITE_CORRUPT",), DataDamaged, DAMAGED),
    (("SQLITE_IOERR",), DataUnavailable, "cannot be read or written; check the disk"),
)


def _translate(path: Path, error: sqlite3.Error) -> DataError:
    name = getattr(error, "sqlite_errorname", None) or ""
    if str(error).startswith("Could not decode to UTF-8"):  # the message goes on with the stored text
        return DataDamaged(f"{path}: {DAMAGED}")
    for prefixes, kind, text in _FAULTS:
        if name.startswith(prefixes):
            return kind(f"{path}: {text}")
    return DataError(f"{path}: {str(error)[:MAX_QUOTE]}")


def _check_library() -> None:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise DataError(
            f"SQLite {sqlite3.sqlite_version} is too old: newsbot needs 3.35 or newer; use a newer Python"
        )
    with sqlite3.connect(":memory:") as probe:
        options = {row[0] for row in probe.execute("PRAGMA compile_options")}
    probe.close()
    if "ENABLE_FTS5" not in options:
        raise DataError(
            "the SQLite of this Python has no FTS5 (full-text search); use a Python from python.org or Debian"
        )


def _migrate(
    connection: sqlite3.Connection, path: Path, component: str, migrations: Mapping[int, str]
) -> None:
    """Run the missing migrations in one transaction.

    Raises :class:`SchemaError` if the file is newer than the last script or older than the first one.
    """
    oldest, newest = min(migrations, default=0), max(migrations, default=0)
    # The version is checked first without a lock. Usually there is nothing to migrate, and a crawl may hold
    # the lock.
    if _version(connection, component) == newest:
        return
    with transaction(connection):
        connection.execute(
            "CREATE TABLE IF NOT EXISTS newsbot_schema (component TEXT PRIMARY KEY, version INTEGER NOT NULL)"
        )
        version = _version(connection, component)  # another process may have migrated in the meantime
        if version > newest:
            raise SchemaError(
                f"{path}: {component} was written by a newer newsbot (format {version}; this version knows "
                f"formats up to {newest}); upgrade newsbot or set NEWSBOT_DATA to another folder"
            )
        if 0 < version < oldest:
            raise SchemaError(
                f"{path}: {component} was written by a build before the first release (format {version}; "
                f"this version knows formats from {oldest} on); set NEWSBOT_DATA to another folder"
            )
        for number in sorted(migrations):
            if number > version:
                for statement in _statements(migrations[number]):
                    connection.execute(statement)
        connection.execute("INSERT OR REPLACE INTO newsbot_schema VALUES (?, ?)", (component, newest))


def _version(connection: sqlite3.Connection, component: str) -> int:
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'newsbot_schema'").fetchone()
    if known is None:
        return 0
    row = connection.execute(
        "SELECT version FROM newsbot_schema WHERE component = ?", (component,)
    ).fetchone()
    return int(row[0]) if row else 0


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script one by one.

    ``executescript`` is not used, because it would commit the transaction of the migration.
    """
    statement = ""
    for part in script.split(";"):
        # A semicolon in a trigger or a text does not end a statement.
        statement += part + ";"
        if sqlite3.complete_statement(statement):
            if statement.strip() != ";":
                yield statement
            statement = ""
