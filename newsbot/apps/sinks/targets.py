"""The rows that sinks send, and their targets: files, search servers, webhooks, databases and queues.

* Parquet files in partitions by day, in a folder or an S3-compatible object store. Files are only added:
  ``day=2026-11-28/<batch>.parquet``. Each row has the key, the version and ``removed``. The current state of
  an article is its row with the highest ``change``, which grows with each batch. A batch that is written
  again replaces its own file.
* OpenSearch or Elasticsearch: rows go into an index, with the bulk API. Source:
  https://docs.opensearch.org/latest/api-reference/document-apis/bulk/. The version of an article is the
  external version of the document, so an older version never replaces a newer one.
* Webhooks: batches of whole articles go to an HTTP address, signed (Standard Webhooks).
* PostgreSQL: rows go into a table, with psycopg.
* Kafka, with confluent-kafka: the key of a message is the key of the row, so a compacted topic keeps the
  newest state of each article. The message of a removed article has no value.
* RabbitMQ (AMQP 0-9-1), with pika and publisher confirms.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from newsbot.apps.optional import load_optional
from newsbot.apps.outgoing import HttpClient, HttpFault, object_store, signing_key, webhook_headers
from newsbot.clock import iso
from newsbot.errors import UserError

# --- rows
RESPONSE_TIMEOUT = 30.0
"""Seconds to wait for a response of a target."""


class SinkError(UserError):
    """The target cannot take the rows now. The text says why, without secrets."""


class RowsRefused(SinkError):
    """The target refuses these rows, and will refuse them again. Others may be accepted."""


@dataclass(frozen=True, slots=True)
class Row:
    """The current state of one article, or its removal."""

    key: str
    """Fingerprint of the canonical URL, in hexadecimal digits. It never changes."""
    version: int = 0
    """Version of the article; 0 if it was removed."""
    article: dict[str, Any] | None = None
    """The fields of the article as JSON values; None if it was removed, or if the sink no longer has it."""
    source: str = ""
    """The site of the article, even if the fields do not have it."""
    fetched: datetime | None = None
    published: datetime | None = None

    def document(self) -> dict[str, Any]:
        """Return the fields with the version and the time of fetching, by which versions are compared."""
        found = {**(self.article or {}), "version": self.version}
        return found if self.fetched is None else {**found, "fetched_at": iso(self.fetched)}

    def plain(self) -> dict[str, Any]:
        """Return the row as one JSON object."""
        if self.article is None:
            return {"key": self.key, "removed": True}
        return {"key": self.key, **self.article, "version": self.version}


class Target:
    """A system that takes articles. A row that is written twice must have the effect of one write."""

    drops_known_batches = False
    """True if the system ignores a batch whose id it knows. A rewind then gives batches new ids."""

    def check(self) -> None:
        """Connect, and create what is missing. Raises :class:`SinkError`."""

    def write(self, rows: Sequence[Row], batch: str) -> None:
        """Write rows, each key once. They are durable afterwards.

        ``batch`` identifies the batch; it is the same if the batch is written again. Raises
        :class:`SinkError`; all rows are then written again later.
        """
        raise NotImplementedError

    def close(self) -> None:
        """End the connection."""


def latest(rows: Iterable[Row]) -> list[Row]:
    """Return the last row of each key, in order."""
    found: dict[str, Row] = {}
    for row in rows:
        found.pop(row.key, None)
        found[row.key] = row
    return list(found.values())


def as_json(value: Any) -> bytes:
    """Return JSON in UTF-8. A lone surrogate in a text is replaced."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


_TEXTS = (
    "url",
    "canonical_url",
    "source",
    "title",
    "text",
    "summary",
    "language",
    "section",
    "image",
    "story",
)
_TIMES = ("published_at", "modified_at", "discovered_at", "fetched_at")


class FilesTarget(Target):
    """``address`` is ``file:///folder`` or ``s3://key:secret@bucket/folder?region=…&endpoint_override=…``."""

    def __init__(self, address: str) -> None:
        self._arrow = load_optional("pyarrow", "parquet", "this sink")
        self._parquet = load_optional("pyarrow.parquet", "parquet", "this sink")
        self._fs = load_optional("pyarrow.fs", "parquet", "this sink")
        parts = urlsplit(address)
        self._is_local = parts.scheme == "file"
        if self._is_local:
            if parts.netloc or not parts.path.startswith("/"):
                raise SinkError(f"{address}: the address of a folder has the form file:///folder")
            self._files: Any = self._fs.LocalFileSystem()
            self._folder = unquote(parts.path)
        else:
            self._files, self._folder = object_store(address, "this sink", patience=RESPONSE_TIMEOUT)
        self._schema = self._arrow.schema(
            [
                ("key", self._arrow.string()),
                ("version", self._arrow.int32()),
                ("removed", self._arrow.bool_()),
                ("change", self._arrow.int64()),
                *((name, self._arrow.string()) for name in _TEXTS),
                *((name, self._arrow.timestamp("us", tz="UTC")) for name in _TIMES),
                ("authors", self._arrow.list_(self._arrow.string())),
                ("tags", self._arrow.list_(self._arrow.string())),
                ("article", self._arrow.string()),  # all fields, as JSON
            ]
        )

    def check(self) -> None:
        """Create the folder if it is missing. A bucket must exist."""
        try:
            if self._is_local:
                self._files.create_dir(self._folder, recursive=True)
            else:
                bucket = self._folder.partition("/")[0]
                if self._files.get_file_info(bucket).type == self._fs.FileType.NotFound:
                    raise SinkError(f"{self._folder}: the bucket {bucket} does not exist")
        except (self._arrow.ArrowException, OSError) as error:
            raise SinkError(f"{self._folder}: {error}") from None

    def write(self, rows: Sequence[Row], batch: str) -> None:
        """Write one file for each day of publication."""
        days: dict[str, list[dict[str, Any]]] = defaultdict(list)
        number = time.time_ns()
        for row in rows:
            days[_day(row)].append(self._values(row, number))
        try:
            for day, values in days.items():
                table = self._arrow.Table.from_pylist(values, schema=self._schema)
                folder = f"{self._folder}/day={day}"
                path = f"{folder}/{batch}.parquet"
                if self._is_local:
                    self._files.create_dir(folder, recursive=True)
                    # A reader must not see half of a file, even if the process is killed. Readers leave out
                    # names with a dot. In an object store, a file appears as a whole.
                    part = f"{folder}/.{batch}.part"
                    self._parquet.write_table(table, part, filesystem=self._files)
                    self._files.move(part, path)
                else:
                    self._parquet.write_table(table, path, filesystem=self._files)
        except (self._arrow.ArrowException, OSError) as error:
            raise SinkError(f"{self._folder}: {error}") from None

    def _values(self, row: Row, number: int) -> dict[str, Any]:
        article: Mapping[str, Any] = row.article or {}
        return {
            "key": row.key,
            "version": row.version,
            "removed": row.article is None,
            "change": number,
            **{name: _clean(article.get(name)) for name in _TEXTS},
            **{name: _moment(article.get(name)) for name in _TIMES},
            "authors": [_clean(one) for one in article.get("authors") or ()],
            "tags": [_clean(one) for one in article.get("tags") or ()],
            "article": None if row.article is None else as_json(row.article).decode(),
        }


def _day(row: Row) -> str:
    moment = row.published or row.fetched
    return "unknown" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d")


def _moment(text: Any) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None


def _clean(text: Any) -> str | None:
    return None if text is None else str(text).encode("utf-8", "replace").decode()


# --- targets
MAPPING = {
    "mappings": {
        "properties": {
            **{
                name: {"type": "date"}
                for name in ("published_at", "modified_at", "fetched_at", "discovered_at")
            },
            **{name: {"type": "keyword"} for name in ("url", "canonical_url", "source", "language", "story")},
            **{name: {"type": "text"} for name in ("title", "text", "summary")},
            "extraction": {"type": "object", "enabled": False},
        }
    }
}
_LATER = frozenset({404, 429, 503})
"""Statuses of a document that was not written because the server is busy, or has no such index."""
_FINE = {"index": frozenset({409}), "delete": frozenset({404, 409})}
"""Statuses that need nothing: a newer version that is there, and a removed document that is not there.

For a document that is written, 404 means that the index is missing.
"""


class OpenSearchTarget(Target):
    """Keeps one document for each article. ``address`` is ``opensearch+https://user:password@host/index``."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address.partition("+")[2])
        folder, _, self._index = parts.path.rstrip("/").rpartition("/")
        self._index = self._index or "articles"
        self._client = HttpClient(
            urlunsplit(parts._replace(path=folder, query="")), patience=RESPONSE_TIMEOUT
        )

    def check(self) -> None:
        """Create the index if it is missing."""
        status, body = self._send("HEAD", f"/{self._index}")
        if status == 404:
            status, body = self._json("PUT", f"/{self._index}", as_json(MAPPING))
            if status == 400 and b"resource_already_exists" in body:
                return
        if status >= 300:
            raise SinkError(f"{self._client.place} returned HTTP {status} for the index {self._index}")

    def write(self, rows: Sequence[Row], batch: str) -> None:  # noqa: ARG002
        """Write rows with one request. Raises an error if any row was not written."""
        if conflicts := self._bulk(rows):
            # An article that was removed and is stored again begins with version 1, but the server has, or
            # remembers for a minute, a higher version.
            self._bulk(self._newer(conflicts), versions=False)

    def _newer(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that were not fetched before their documents, or that have none."""
        asked = {"docs": [{"_index": self._index, "_id": row.key} for row in rows]}
        status, body = self._json("POST", "/_mget?_source_includes=fetched_at", as_json(asked))
        try:
            found = {one["_id"]: one.get("_source", {}) for one in json.loads(body)["docs"] if one["found"]}
            times = {key: datetime.fromisoformat(one["fetched_at"]) for key, one in found.items() if one}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise SinkError(f"{self._client.place} returned HTTP {status} and no documents") from None
        return [
            row
            for row in rows
            if row.key not in found
            or (row.fetched is not None and row.key in times and row.fetched >= times[row.key])
        ]

    def _bulk(self, rows: Sequence[Row], *, versions: bool = True) -> list[Row]:
        """Write rows. Return those that are older than their documents."""
        if not rows:
            return []
        lines: list[bytes] = []
        for row in rows:
            place: dict[str, Any] = {"_index": self._index, "_id": row.key}
            if row.article is None:
                lines.append(as_json({"delete": place}))
            else:
                # The version is 1 or more. Rights may change without a new version, so an equal one is
                # written.
                if versions:
                    place |= {"version": row.version, "version_type": "external_gte"}
                lines += (as_json({"index": place}), as_json(row.document()))
        status, body = self._json("POST", "/_bulk", b"\n".join(lines) + b"\n")
        if status >= 300:
            kind = RowsRefused if status in (400, 413) else SinkError
            raise kind(f"{self._client.place} returned HTTP {status}")
        try:
            answer = json.loads(body)
            pairs = [pair for one in answer["items"] for pair in one.items()] if answer["errors"] else []
            items = [(action, int(one["status"]), one) for action, one in pairs]
            bad = [(one, why) for action, one, why in items if one >= 300 and one not in _FINE[action]]
            conflicts = {one["_id"] for action, status, one in items if (action, status) == ("index", 409)}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise SinkError(f"{self._client.place} returned no answer of the bulk API") from None
        if bad:
            why = bad[0][1].get("error")
            text = f"{why.get('type', 'error')}: {why.get('reason', '')}" if isinstance(why, dict) else why
            kind = SinkError if any(status in _LATER for status, _ in bad) else RowsRefused
            raise kind(f"{self._client.place}: {text}"[:300])
        return [row for row in rows if row.key in conflicts]

    def _json(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        kind = "application/x-ndjson" if path == "/_bulk" else "application/json"
        return self._send(method, path, body, {"Content-Type": kind})

    def _send(self, *request: Any) -> tuple[int, bytes]:
        try:
            return self._client.send(*request)
        except HttpFault as fault:
            raise SinkError(str(fault)) from None


REFUSED = frozenset({400, 409, 413, 415, 422})
"""Statuses that say that the content is wrong. Other errors may be over after some time."""


class WebhookTarget(Target):
    """Posts ``{"type": "articles", "timestamp": …, "data": [row, …]}``; a removed row has ``removed``."""

    drops_known_batches = True

    def __init__(self, address: str, secret: str = "") -> None:
        self._client = HttpClient(address, patience=RESPONSE_TIMEOUT)
        self._key = signing_key(secret)

    def write(self, rows: Sequence[Row], batch: str) -> None:
        """Post the rows. The id of the request is ``batch``."""
        now = int(time.time())
        body = as_json({"type": "articles", "timestamp": now, "data": [row.plain() for row in rows]})
        headers = {"Content-Type": "application/json", **webhook_headers(self._key, batch, now, body)}
        try:
            status, _body = self._client.send("POST", "", body, headers)
        except HttpFault as fault:
            raise SinkError(str(fault)) from None
        if status in REFUSED:
            raise RowsRefused(f"{self._client.place} returned HTTP {status}")
        if not 200 <= status < 300:
            raise SinkError(f"{self._client.place} returned HTTP {status}")


COLUMNS = {
    "key": "text PRIMARY KEY",
    "version": "integer NOT NULL",
    "url": "text",
    "canonical_url": "text",
    "source": "text",
    "title": "text",
    "text": "text",
    "language": "text",
    "published_at": "timestamptz",
    "fetched_at": "timestamptz",
    "article": "jsonb NOT NULL",
}
"""Columns of the table. ``article`` has all fields but the text."""
_ESCAPED = re.compile(r"(\\\\)|\\u0000")
_NO_ZERO = str.maketrans("", "", "\0")


class PostgresTarget(Target):
    """Keeps the current version of each article in one table.

    ``address`` is a connection URI of libpq. Its parameter ``table`` is the name of the table (default:
    ``articles``; a schema may come first).
    """

    def __init__(self, address: str) -> None:
        self._psycopg = load_optional("psycopg", "postgresql", "this sink")
        # All but the table is left as it is, because libpq reads a URI in its own way: without a host it uses
        # a socket, and a plus is not a space.
        slash = address.find("/", address.find("://") + 3)
        login = address.find("@", 0, slash if slash >= 0 else None) + 1  # a password may have a question mark
        place, _, query = address[login:].partition("?")
        options = [one for one in query.split("&") if one]
        tables = [unquote(one.partition("=")[2]) for one in options if one.startswith("table=")]
        self._table = self._psycopg.sql.Identifier(*(tables[-1] if tables else "articles").split("."))
        options = [one for one in options if not one.startswith("table=")]
        self._address = (
            f"{address[:login]}{place}?{'&'.join([f'connect_timeout={int(RESPONSE_TIMEOUT)}', *options])}"
        )
        try:
            found = load_optional("psycopg.conninfo", "postgresql", "this sink").conninfo_to_dict(
                self._address
            )
            ports = [one for one in str(found.get("port", "")).split(",") if one]
        except self._psycopg.Error:
            ports = ["?"]
        if not all(one.isdecimal() for one in ports):  # the error of libpq may quote a part of the password
            raise SinkError(
                "PostgreSQL: the address is not valid; write postgresql://user:password@host/database, and "
                "signs such as / @ : % in the name and the password as %2F %40 %3A %25"
            )
        self._connection: Any = None

    def check(self) -> None:
        """Connect, and create the table if it is missing."""
        try:
            self._connected()
        except self._psycopg.Error as error:
            raise SinkError(self._fault(error)) from None

    def write(self, rows: Sequence[Row], batch: str) -> None:  # noqa: ARG002
        """Write rows in one transaction. An older version never replaces a newer one."""
        sql = self._psycopg.sql
        names = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
        kept = [row for row in rows if row.article is not None]
        gone = [row.key for row in rows if row.article is None]
        try:
            with self._connected().transaction(), self._connection.cursor() as cursor:
                if gone:
                    cursor.execute(sql.SQL("DELETE FROM {} WHERE key = ANY(%s)").format(self._table), (gone,))
                if not kept:
                    return
                # COPY takes many rows in one command, but cannot update. So it fills a temporary table first.
                cursor.execute(
                    sql.SQL(
                        "CREATE TEMP TABLE IF NOT EXISTS newsbot_batch (LIKE {}) ON COMMIT DELETE ROWS"
                    ).format(self._table)
                )
                with cursor.copy(sql.SQL("COPY newsbot_batch ({}) FROM STDIN").format(names)) as copy:
                    for row in kept:
                        copy.write_row(_values(row))
                changes = sql.SQL(", ").join(
                    sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name))
                    for name in COLUMNS
                    if name != "key"
                )
                cursor.execute(
                    sql.SQL(
                        "INSERT INTO {0} AS old ({1}) SELECT {1} FROM newsbot_batch ON CONFLICT (key)"
                        " DO UPDATE SET {2} WHERE EXCLUDED.version >= old.version"
                        # An article that was removed and is stored again begins with version 1.
                        " OR EXCLUDED.fetched_at >= old.fetched_at"
                    ).format(self._table, names, changes)
                )
        except (self._psycopg.DataError, self._psycopg.IntegrityError) as error:
            raise RowsRefused(self._fault(error)) from None
        except self._psycopg.Error as error:
            self.close()
            raise SinkError(self._fault(error)) from None

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> Any:
        if self._connection is None or self._connection.closed:
            self._connection = self._psycopg.connect(self._address, autocommit=True)
            sql = self._psycopg.sql
            columns = sql.SQL(", ").join(
                sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in COLUMNS.items()
            )
            self._connection.execute(
                sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(self._table, columns)
            )
        return self._connection

    @staticmethod
    def _fault(error: Exception) -> str:
        return f"PostgreSQL: {next(iter(str(error).splitlines()), type(error).__name__)}"


def _values(row: Row) -> list[Any]:
    article = {"key": row.key, **row.document()}
    plain = [article.get(name) for name in COLUMNS if name != "article"]
    texts = [one.translate(_NO_ZERO) if isinstance(one, str) else one for one in plain]
    # PostgreSQL has no character with code 0, and no lone surrogates.
    written = json.dumps({**(row.article or {}), "text": None}, ensure_ascii=False)
    content = _ESCAPED.sub(r"\1", written)
    clean = [one.encode("utf-8", "replace").decode() if isinstance(one, str) else one for one in texts]
    return [*clean, content.encode("utf-8", "replace").decode()]


class KafkaTarget(Target):
    """``address`` is ``kafka://user:password@broker1:9092,broker2:9092/topic``.

    Its parameters are settings of librdkafka: ``?security.protocol=SASL_SSL``.
    """

    def __init__(self, address: str) -> None:
        self._kafka = load_optional("confluent_kafka", "kafka", "this sink")
        parts = urlsplit(address)
        login, _, brokers = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        self._topic = parts.path.strip("/") or "articles"
        self._settings: dict[str, Any] = {
            "bootstrap.servers": brokers,
            "client.id": "newsbot",
            "enable.idempotence": True,  # keeps the order of messages when the client tries again
            "compression.type": "gzip",
            "message.timeout.ms": int(RESPONSE_TIMEOUT * 1000),
            "socket.timeout.ms": int(RESPONSE_TIMEOUT * 1000),
        }
        if user:
            self._settings |= {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.username": unquote(user),
                "sasl.password": unquote(password),
            }
        self._settings |= dict(parse_qsl(parts.query))
        self._producer: Any = None

    def check(self) -> None:
        """Ask the brokers for the topic."""
        try:
            found = self._opened().list_topics(self._topic, timeout=RESPONSE_TIMEOUT)
        except self._kafka.KafkaException as error:
            raise SinkError(f"Kafka: {error.args[0].str()}") from None
        fault = found.topics[self._topic].error
        if fault is not None and not fault.retriable():
            raise SinkError(f"Kafka: topic {self._topic}: {fault.str()}")

    def write(self, rows: Sequence[Row], batch: str) -> None:  # noqa: ARG002
        """Send the rows, and wait until the brokers have all of them."""
        producer = self._opened()
        faults: list[Any] = []

        def delivered(error: Any, _message: Any) -> None:
            if error is not None:
                faults.append(error)

        for row in rows:
            value = None if row.article is None else as_json(row.plain())
            try:
                producer.produce(self._topic, key=row.key, value=value, on_delivery=delivered)
            except self._kafka.KafkaException as error:
                faults.append(error.args[0])
                break
            except BufferError:  # the queue of the client is full
                producer.flush(RESPONSE_TIMEOUT)
                producer.produce(self._topic, key=row.key, value=value, on_delivery=delivered)
        left = producer.flush(RESPONSE_TIMEOUT + 1)
        if left or faults:
            self.close()
            text = faults[0].str() if faults else "the brokers do not answer"
            too_large = faults and faults[0].code() == self._kafka.KafkaError.MSG_SIZE_TOO_LARGE
            raise (RowsRefused if too_large else SinkError)(f"Kafka: {text}")

    def close(self) -> None:
        """Drop the client. What it has not sent is sent again by the next one."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(0)
            self._producer = None

    def _opened(self) -> Any:
        if self._producer is None:
            try:
                self._producer = self._kafka.Producer(self._settings, logger=_Quiet())
            except self._kafka.KafkaException as error:
                raise SinkError(f"Kafka: {error.args[0].str()}") from None
            except (TypeError, ValueError) as error:  # settings that are functions of a program
                raise SinkError(f"Kafka: {error}") from None
        return self._producer


class _Quiet:
    """Takes the log of librdkafka, which repeats each failed connection. Errors are reported by the sink."""

    def log(self, *_given: Any) -> None:
        """Do nothing."""


class RabbitTarget(Target):
    """``address`` is an AMQP URI with the parameter ``exchange`` or ``queue`` (default: queue ``articles``).

    The exchange gets the routing key ``articles.<site>``. A queue is created if it is missing. A message has
    the key and the version of its row as ``message_id``; ``type`` is ``article`` or ``removed``.
    """

    def __init__(self, address: str) -> None:
        self._pika = load_optional("pika", "rabbitmq", "this sink")
        parts = urlsplit(address)
        options = dict(parse_qsl(parts.query))
        self._exchange = options.pop("exchange", "")
        self._queue = "" if self._exchange else options.pop("queue", "articles")
        options = {
            "socket_timeout": str(RESPONSE_TIMEOUT),
            "blocked_connection_timeout": str(RESPONSE_TIMEOUT),
            **options,
        }
        try:
            self._parameters = self._pika.URLParameters(urlunsplit(parts._replace(query=urlencode(options))))
        except (ValueError, TypeError, OSError) as error:
            raise SinkError(f"RabbitMQ: {error}") from None
        self._channel: Any = None

    def check(self) -> None:
        """Connect, and create the queue if it is missing."""
        self._safely(self._opened)

    def write(self, rows: Sequence[Row], batch: str) -> None:  # noqa: ARG002
        """Publish the rows, and wait until the server has stored each of them."""

        def publish() -> None:
            for row in rows:
                self._publish(row)

        self._safely(publish)

    def close(self) -> None:
        """End the connection."""
        if self._channel is not None:
            with contextlib.suppress(Exception):  # it may be closed already
                self._channel.connection.close()
            self._channel = None

    def _publish(self, row: Row) -> None:
        properties = self._pika.BasicProperties(
            content_type="application/json",
            delivery_mode=2,  # durable
            message_id=f"{row.key}-{row.version}",
            type="removed" if row.article is None else "article",
        )
        key = self._queue or f"articles.{row.source or 'removed'}"
        self._opened().basic_publish(
            self._exchange, key, as_json(row.plain()), properties, mandatory=bool(self._queue)
        )

    def _opened(self) -> Any:
        if self._channel is None or not self._channel.is_open:
            self._channel = self._pika.BlockingConnection(self._parameters).channel()
            self._channel.confirm_delivery()
            if self._queue:
                self._channel.queue_declare(self._queue, durable=True)
        return self._channel

    def _safely(self, work: Any) -> None:
        try:
            work()
        except (self._pika.exceptions.AMQPError, OSError) as error:
            self.close()
            text = str(error) or type(error).__name__
            raise SinkError(f"RabbitMQ: {text[:200]}") from None
