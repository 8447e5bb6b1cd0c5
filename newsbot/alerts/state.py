"""Keeps in notes which alerts are open and which were sent: each is sent once, and its end is sent once.

An alert is over when :data:`CALM_ROUNDS` rounds in a row did not find it. What one output could not take is
offered to it again in the next round, and to no other. One process tells at a time: who has the lock, a note
that is swapped; it passes on when its holder was silent for too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from newsbot.alerts.rules import Alert, Message, alert_from
from newsbot.storage.notes import Notes

KIND = "alerts"
LOCK = ("alerts_lock", "lock")
CALM_ROUNDS = 2
GIVE_UP = 86400.0
"""Seconds after which an end that could not be told is told no more."""
MAX_ALERTS = 1000
"""Kept at a time; more are left for later rounds."""
MAX_TEXT = 2000
"""Characters of each text of an alert."""


@dataclass(slots=True, kw_only=True)
class Entry:
    """One alert, from its first round to its end. Times are POSIX seconds."""

    alert: Alert
    first: float
    last: float
    missing: int = 0
    """Rounds in a row that did not find it."""
    over: float | None = None
    told: dict[str, float] = field(default_factory=dict)
    """By output, when its beginning was told."""
    told_over: dict[str, float] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return it as a note."""
        return asdict(self)


def entry_from(plain: Mapping[str, Any]) -> Entry | None:
    """Return the entry of a note; None for what is none: it is found anew."""
    try:
        alert = alert_from(plain["alert"])
        if alert is None:
            return None
        return Entry(
            alert=alert,
            first=float(plain["first"]),
            last=float(plain["last"]),
            missing=int(plain["missing"]),
            over=None if plain["over"] is None else float(plain["over"]),
            told=dict(plain["told"]),
            told_over=dict(plain["told_over"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def entries(notes: Notes) -> dict[str, Entry]:
    """Return what is kept, by key. Raises :class:`newsbot.errors.DataError`."""
    read = {key: entry_from(plain) for key, plain in notes.all(KIND).items()}
    return {key: entry for key, entry in read.items() if entry is not None}


def current(notes: Notes) -> list[Entry]:
    """Return the alerts that are not over, the latest first: for pages and commands."""
    found = [entry for entry in entries(notes).values() if entry.over is None]
    return sorted(found, key=lambda entry: (-entry.first, entry.alert.key))


def updated(kept: Mapping[str, Entry], found: Sequence[Alert], now: float) -> dict[str, Entry]:
    """Return the entries after a round that found these alerts."""
    after: dict[str, Entry] = {}
    for alert in map(_bounded, found):
        known = kept.get(alert.key)
        if known is None:
            if len(kept) + len(after) < MAX_ALERTS:
                since = now if alert.since is None else alert.since
                after[alert.key] = Entry(alert=replace(alert, since=since), first=now, last=now)
            continue
        began = known.alert.since if alert.since is None else alert.since
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
    """Return what an output is still to be told, the oldest first."""
    found = []
    for entry in sorted(book.values(), key=lambda one: (one.first, one.alert.key)):
        if entry.over is None and output not in entry.told:
            found.append(Message(event="began", alert=entry.alert, at=entry.first))
        elif entry.over is not None and output in entry.told and output not in entry.told_over:
            found.append(Message(event="over", alert=entry.alert, at=entry.over))
    return found


def note_told(book: Mapping[str, Entry], output: str, messages: Iterable[Message], now: float) -> None:
    """Note that an output took these messages."""
    for message in messages:
        entry = book[message.alert.key]
        (entry.told if message.event == "began" else entry.told_over)[output] = now


def write(notes: Notes, before: Mapping[str, Any], book: Mapping[str, Entry], now: float) -> None:
    """Keep the book; ``before`` are the notes as they are. Raises :class:`newsbot.errors.DataError`."""
    done = set(_done(book, now))
    for key, entry in book.items():
        if key not in done and before.get(key) != entry.plain():
            notes.save(KIND, key, entry.plain())
    for key in before:
        if key in done or key not in book:
            notes.forget(KIND, key)


def take_lock(notes: Notes, owner: str, now: float, seconds: float) -> bool:
    """Take or keep the right to tell, for so long; False while another process has it.

    Raises :class:`newsbot.errors.DataError`.
    """
    held = notes.all(LOCK[0]).get(LOCK[1])
    if held is not None and held.get("owner") != owner:
        until = held.get("until")
        # one that ends later than any holder may ask for is of a clock that went wrong
        if isinstance(until, int | float) and now < until <= now + 2 * seconds:
            return False
    return notes.swap(*LOCK, held, {"owner": owner, "until": now + seconds})


def drop_lock(notes: Notes, owner: str) -> None:
    """Give the right back, if we have it. Raises :class:`newsbot.errors.DataError`."""
    held = notes.all(LOCK[0]).get(LOCK[1])
    if held is not None and held.get("owner") == owner:
        notes.swap(*LOCK, held, {"owner": "", "until": 0})


def _done(book: Mapping[str, Entry], now: float) -> Iterator[str]:
    """Yield the keys of what is over and told."""
    for key, entry in book.items():
        if entry.over is not None and (set(entry.told) <= set(entry.told_over) or now - entry.over > GIVE_UP):
            yield key


def _bounded(alert: Alert) -> Alert:
    texts = {name: getattr(alert, name)[:MAX_TEXT] for name in ("what", "cause", "todo")}
    return replace(alert, subject=alert.subject[:300], **texts)
