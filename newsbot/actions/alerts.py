"""``scrapy alerts``: shows current problems and the alerts that were sent for them, and tests the outputs."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

from newsbot.alerts.rules import Alert, Message
from newsbot.alerts.state import current
from newsbot.alerts.watch import Delivery, Options, Watch, options_from, tell
from newsbot.backends import open_frontier, open_storage, stored
from newsbot.cli.command import Call
from newsbot.cli.terminal import Column, when
from newsbot.clock import from_iso, iso, system_clock, utc
from newsbot.errors import UserError
from newsbot.frontier.owners import owner_name

TEST = Alert(
    rule="test",
    subject="newsbot",
    what="this is a test message: nothing is wrong",
    cause="scrapy alerts --test was run",
    todo="nothing",
)


def alerts(call: Call) -> int:
    """Show the current problems, send them (``--send``), or send a test message (``--test``)."""
    options = options_from(call.settings)
    if call.options.test:
        now = system_clock()
        message = Message(event="test", alert=TEST, at=now)
        _tell(call, [Delivery(output, [message]) for output in options.outputs])
        return 0
    if call.options.send:
        return _send(call, options)
    with stored(call.settings) as storage, closing(open_frontier(call.settings)) as frontier:
        found = Watch(storage, frontier, options, owner="", clock=system_clock).found()
        told = {entry.alert.key: entry for entry in current(storage.notes)}
    # The alerts that remain in `told` were sent, but their problems are not found now. They will end soon.
    rows = [_plain(one, told.pop(one.key, None)) for one in found]
    rows += [_plain(entry.alert, entry, fading=True) for entry in told.values()]
    if call.json:
        call.document(rows)
    elif not rows:
        call.note(f"nothing is wrong; outputs: {', '.join(output.name for output in options.outputs)}")
    else:
        _print(call, rows)
    return 0


def _send(call: Call, options: Options) -> int:
    """Check once and send the messages, as a running crawl does.

    This is for cron jobs on machines where no crawl runs all the time.
    """
    with closing(open_storage(call.settings)) as storage, closing(open_frontier(call.settings)) as frontier:
        watch = Watch(storage, frontier, options, owner=owner_name(system_clock()), clock=system_clock)
        deliveries = watch.look()
        if watch.is_locked_out:
            call.note(
                "a crawl or scrapy serve sends the alerts now; if it was killed, try again in 15 minutes"
            )
        try:
            _tell(call, deliveries)
        finally:
            # This is done also after an output failed, so that other outputs do not send their messages
            # again.
            watch.note(deliveries)
            watch.leave()
    return 0


def _tell(call: Call, deliveries: list[Delivery]) -> None:
    """Send the messages and print the result. Raises :class:`UserError` if an output failed."""
    faults = tell(deliveries)
    if call.json:
        rows = [
            {"output": one.output.name, "messages": len(one.messages), "told": one.done} for one in deliveries
        ]
        call.document(rows)
    for one in deliveries:
        if one.done and not call.json:
            call.note(f"{one.output.name}: {len(one.messages)} sent")
    if faults:
        raise UserError("\n".join(faults))


def _plain(alert: Alert, entry: Any, *, fading: bool = False) -> dict[str, Any]:
    """Return an alert as a JSON-able dict.

    ``fading`` means that the alert was sent, but its problem is not found any more.
    """
    since = alert.since if alert.since is not None or entry is None else entry.alert.since
    return {
        "rule": alert.rule,
        "subject": alert.subject,
        "what": alert.what,
        "since": None if since is None else iso(utc(since)),
        "cause": alert.cause,
        "todo": alert.todo,
        "told": {} if entry is None else {name: iso(utc(at)) for name, at in entry.told.items()},
        "found_now": not fading,
    }


def _print(call: Call, rows: list[dict[str, Any]]) -> None:
    now = time.time()
    columns = (Column("rule"), Column("about"), Column("since", "right"), Column("told"))
    wide = (Column("what", wide=True), Column("likely cause", wide=True), Column("what to do", wide=True))
    call.table(
        (*columns, *wide),
        (
            (
                *(
                    one["rule"],
                    one["subject"],
                    when(_seconds(one["since"]), now),
                    ", ".join(one["told"]) or "no",
                ),
                *(one["what"], one["cause"], one["todo"]),
            )
            for one in rows
        ),
    )


def _seconds(moment: str | None) -> float | None:
    found = from_iso(moment)
    return None if found is None else found.timestamp()
