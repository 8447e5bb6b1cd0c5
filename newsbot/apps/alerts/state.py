"""Records open and sent alerts as notes, so that the beginning and the end of each alert are sent once.

An alert is over if :data:`CALM_ROUNDS` rounds in a row did not find it. If an output fails, only this output
gets the message again in the next round. Only one process sends at a time. It holds a lock: a note that is
swapped atomically. The lock expires if the process does not renew it.

In the notes, ``told`` means that an output has received a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from newsbot.apps.alerts.rules import Alert, Message
from newsbot.apps.operations.verdict import Sign
from newsbot.cli.terminal import counted
from newsbot.clock import utc_of
from newsbot.sites.health import alarms
from newsbot.storage.base import Storage
from newsbot.storage.notes import NoteName, Notes

KIND = "alerts"
LOCK = ("alerts_lock", "lock")
CALM_ROUNDS = 2
"""An alert is over after this number of rounds in a row that did not find it."""
GIVE_UP = 86400.0
"""Seconds after which the unsent end of an alert is dropped."""
MAX_ALERTS = 1000
"""Maximum number of alerts that are kept. Further alerts wait for later rounds."""
MAX_TEXT = 2000
"""Maximum number of characters of each text of an alert."""


@dataclass(slots=True, kw_only=True)
class Entry:
    """An alert and its messages, from its first round to its end. Times are POSIX seconds."""

    alert: Alert
    first: float
    last: float
    missing: int = 0
    """Number of rounds in a row that did not find the alert."""
    over: float | None = None
    """Time at which the alert ended; None while it is open."""
    told: dict[str, float] = field(default_factory=dict)
    """Time at which each output received the beginning of the alert, by name of the output."""
    told_over: dict[str, float] = field(default_factory=dict)
    """Time at which each output received the end of the alert, by name of the output."""


def entry_from(plain: Mapping[str, Any]) -> Entry | None:
    """Return the entry in a note. Return None if the note is invalid; the rules then find the alert again."""
    try:
        return Entry(**{**plain, "alert": Alert(**plain["alert"])})
    except (KeyError, TypeError):
        return None


def entries(notes: Notes) -> dict[str, Entry]:
    """Return all stored entries, by key of their alert. Raises :class:`newsbot.errors.DataError`."""
    read = {key: entry_from(plain) for key, plain in notes.all(KIND).items()}
    return {key: entry for key, entry in read.items() if entry is not None}


def current(notes: Notes) -> list[Entry]:
    """Return the open alerts, latest first. Raises :class:`newsbot.errors.DataError`."""
    found = [entry for entry in entries(notes).values() if entry.over is None]
    return sorted(found, key=lambda entry: (-entry.first, entry.alert.key))


def signs(_settings: object, storage: Storage) -> Iterator[Sign]:
    """Yield the number of alerts, and of sites whose figures have fallen, for the verdict on the crawl."""
    alerts = [entry.alert for entry in current(storage.notes)]
    number = len(alerts) + len(alarms(storage.notes).keys() - {one.subject for one in alerts})
    if number:
        since = min((one.since for one in alerts if one.since is not None), default=None)
        yield Sign(text=counted(number, "alert"), since=utc_of(since))


def updated(kept: Mapping[str, Entry], found: Sequence[Alert], now: float) -> dict[str, Entry]:
    """Return the entries after a round that found these alerts.

    ``kept`` contains the entries before the round.
    """
    after: dict[str, Entry] = {}
    for alert in map(_bounded, found):
        known = kept.get(alert.key)
        if known is None:
            if len(kept) + len(after) < MAX_ALERTS:
                since = now if alert.since is None else alert.since
                after[alert.key] = Entry(alert=replace(alert, since=since), first=now, last=now)
            continue
        # If a rule does not know when the problem began, the time of the first round is kept.
        began = known.alert.since if alert.since is None else alert.since
        # An alert that has ended can still be stored, because its end has not been sent yet. If a round finds
        # such an alert again, it is open again.
        after[alert.key] = replace(
            known, alert=replace(alert, since=began), last=now, missing=0, over=None, told_over={}
        )
    for key, entry in kept.items():
        if key in after:
            continue
        missing = entry.missing + 1
        over = now if entry.over is None and missing >= CALM_ROUNDS else entry.over
        after[key] = replace(entry, missing=missing, over=over)
    return after


def messages_for(output: str, book: Mapping[str, Entry]) -> list[Message]:
    """Return the messages that an output has not received, oldest first.

    The end of an alert is sent only to outputs that received its beginning.
    """
    found = []
    for entry in sorted(book.values(), key=lambda one: (one.first, one.alert.key)):
        if entry.over is None and output not in entry.told:
            found.append(Message(event="began", alert=entry.alert, at=entry.first))
        elif entry.over is not None and output in entry.told and output not in entry.told_over:
            found.append(Message(event="over", alert=entry.alert, at=entry.over))
    return found


def note_told(book: Mapping[str, Entry], output: str, messages: Iterable[Message], now: float) -> None:
    """Record in ``book`` that an output received these messages."""
    for message in messages:
        entry = book[message.alert.key]
        (entry.told if message.event == "began" else entry.told_over)[output] = now


def write(notes: Notes, before: Mapping[str, Any], book: Mapping[str, Entry], now: float) -> None:
    """Store the entries that have changed, and delete the entries that are done (:func:`_done`).

    ``before`` contains the stored notes by key, and ``book`` contains the new entries. Raises
    :class:`newsbot.errors.DataError`.
    """
    done = set(_done(book, now))
    for key, entry in book.items():
        note = asdict(entry)
        if key not in done and before.get(key) != note:
            notes.save(KIND, key, note)
    for key in before:
        if key in done or key not in book:
            notes.forget(KIND, key)


def take_lock(notes: Notes, owner: str, now: float, seconds: float, lock: NoteName = LOCK) -> bool:
    """Take or renew a lock for ``seconds``. Return False if another process holds it.

    Raises :class:`newsbot.errors.DataError`.
    """
    held = notes.all(lock[0]).get(lock[1])
    if held is not None and held.get("owner") != owner:
        until = held.get("until")
        # A lock that ends after now + 2 * seconds can only come from a machine with a wrong clock. It is
        # ignored, because otherwise no process would send alerts until that time.
        if isinstance(until, int | float) and now < until <= now + 2 * seconds:
            return False
    # If two processes find the lock free, the swap succeeds for only one of them.
    return notes.swap(*lock, held, {"owner": owner, "until": now + seconds})


def drop_lock(notes: Notes, owner: str, lock: NoteName = LOCK) -> None:
    """Release a lock if this process holds it. Raises :class:`newsbot.errors.DataError`."""
    held = notes.all(lock[0]).get(lock[1])
    if held is not None and held.get("owner") == owner:
        notes.swap(*lock, held, {"owner": "", "until": 0})


def _done(book: Mapping[str, Entry], now: float) -> Iterator[str]:
    """Yield the keys of ended alerts that are no longer needed.

    All outputs have received the end of the alert, or the end is too old to be sent.
    """
    for key, entry in book.items():
        if entry.over is not None and (set(entry.told) <= set(entry.told_over) or now - entry.over > GIVE_UP):
            yield key


def _bounded(alert: Alert) -> Alert:
    texts = {name: getattr(alert, name)[:MAX_TEXT] for name in ("what", "cause", "todo")}
    return replace(alert, subject=alert.subject[:300], **texts)
