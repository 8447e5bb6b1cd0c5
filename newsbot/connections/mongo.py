"""The way to the servers: what the URI says, and what newsbot adds where it says nothing.

A write is acknowledged when a majority of the replica set has it in its journal: with MongoDB's own
default for a single node, kill -9 lost up to 162 acknowledged inserts, with the journal none.
Waiting is short, because a crawl stands still meanwhile; whoever calls tries again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from bson.codec_options import CodecOptions
from pymongo import MongoClient, ReadPreference, WriteConcern
from pymongo.client_session import ClientSession
from pymongo.database import Database
from pymongo.errors import PyMongoError

from newsbot.errors import DataUnavailable

Document = dict[str, Any]
Client = MongoClient[Document]
Collections = Database[Document]
Session = ClientSession

DATABASE = "newsbot"
"""The database that is used when neither the URI nor the caller names one."""
_DEFAULTS: dict[str, Any] = {
    "serverSelectionTimeoutMS": 3_000,
    "connectTimeoutMS": 3_000,
    "socketTimeoutMS": 60_000,
    "appname": "newsbot",
}
_MAJORITY_MS = 20_000
_ANSWER_MS = 30_000
_HURRIED: dict[str, Any] = {"serverSelectionTimeoutMS": 2_000, "socketTimeoutMS": 5_000}
"""For a crawl: its reactor stands still while it waits, so it rather comes again."""
_HURRIED_MAJORITY_MS = 4_000
FORM = (
    "mongodb://user:password@host:27017/newsbot (signs like : / ? # @ % in a password are written as %3A …)"
)


@dataclass(frozen=True, slots=True)
class Place:
    """An open client, its database, and how people call the place (hosts and database, no credentials)."""

    client: Client
    database: Collections
    write_concern: WriteConcern
    name: str
    patience: int = _ANSWER_MS
    """Milliseconds that a long read may take in the server."""


def connect(uri: str, database: str | None, *, hurried: bool = False) -> Place:
    """Make a client; nothing is sent yet. Raises :class:`DataUnavailable` if the URI is none."""
    hosts, query = _hosts_and_query(uri)
    given = {name.lower() for name, _ in parse_qsl(query, keep_blank_values=True)}
    wanted = _DEFAULTS | _HURRIED if hurried else _DEFAULTS
    more = {name: value for name, value in wanted.items() if name.lower() not in given}
    try:
        client: Client = MongoClient(uri, connect=False, **more)
    except (PyMongoError, ValueError, TypeError) as error:
        # the driver's words may quote parts of a password, when it is not escaped
        raise DataUnavailable(f"MONGO_URI: the driver refuses it; write {FORM}") from error
    try:
        timeout = _HURRIED_MAJORITY_MS if hurried else _MAJORITY_MS
        safe: dict[str, Any] = {"w": "majority", "wtimeout": timeout, "j": True}
        concern = WriteConcern(**(safe | client.write_concern.document))
        chosen = client.get_database(
            database or client.get_default_database(DATABASE).name,
            codec_options=CodecOptions(tz_aware=True),
            read_preference=ReadPreference.PRIMARY,
            write_concern=concern,
        )
    except (PyMongoError, ValueError, TypeError) as error:
        client.close()
        raise DataUnavailable(f"MONGO_URI: the driver refuses it; write {FORM}") from error
    return Place(client, chosen, concern, f"MongoDB {hosts}/{chosen.name}")


def _hosts_and_query(uri: str) -> tuple[str, str]:
    scheme, mark, rest = uri.strip().partition("://")
    place, _, query = rest.partition("?")
    authority, _, path = place.partition("/")
    if not mark or scheme not in ("mongodb", "mongodb+srv") or "@" in path:
        raise DataUnavailable(f"MONGO_URI: is no address of MongoDB; write {FORM}")
    return authority.rpartition("@")[2], query
