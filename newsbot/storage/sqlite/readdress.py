"""Keeping an article under another URL; see :meth:`newsbot.storage.base.Storage.readdress`."""

from __future__ import annotations

import sqlite3
import time

from newsbot.storage.base import story_id
from newsbot.storage.sqlite import words
from newsbot.storage.sqlite.removal import DERIVED
from newsbot.text.words import clean
from newsbot.urls import fingerprint


def readdress(database: sqlite3.Connection, canonical_url: str, content_hash: str, to: str) -> bool:
    """Give an article another URL; within a write transaction."""
    old, new = clean(canonical_url), clean(to)
    row = database.execute(
        "SELECT id FROM article WHERE fingerprint = ? AND content_hash = ?", (fingerprint(old), content_hash)
    ).fetchone()
    if row is None or _is_kept(database, new):
        return False
    number = row["id"]
    database.execute("DELETE FROM article_alias WHERE fingerprint = ?", (fingerprint(new),))
    database.execute(
        "UPDATE article SET fingerprint = ?, canonical_url = ?, stored = ? WHERE id = ?",
        (fingerprint(new), new, time.time(), number),
    )
    database.execute(
        "UPDATE article_version SET document = json_set(document, '$.canonical_url', ?) WHERE article = ?",
        (new, number),
    )
    database.execute("UPDATE article SET duplicate_of = ? WHERE duplicate_of = ?", (new, old))
    database.execute(DERIVED.format(names="(?)"), (new, old))
    words.forget(database, [fingerprint(old)])
    words.only_present(database, number)
    _move_story(database, story_id(old), story_id(new))
    return True


def _is_kept(database: sqlite3.Connection, url: str) -> bool:
    asked = "SELECT 1 FROM article WHERE fingerprint = ?"
    return database.execute(asked, (fingerprint(url),)).fetchone() is not None


def _move_story(database: sqlite3.Connection, old: str, new: str) -> None:
    """Let the story that was named after the old URL be named after the new one: another may come there."""
    row = database.execute("SELECT into_story FROM story_joined WHERE story = ?", (new,)).fetchone()
    target = new if row is None or row["into_story"] == old else row["into_story"]
    database.execute("DELETE FROM story_joined WHERE story = ? OR story = ?", (old, target))
    database.execute("UPDATE story_joined SET into_story = ? WHERE into_story = ?", (target, old))
    database.execute("UPDATE article SET story = ? WHERE story = ?", (target, old))
