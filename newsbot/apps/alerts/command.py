"""``scrapy alerts``: shows current problems and the alerts that were sent for them, and tests the outputs.

Also ``scrapy articles save``, ``saved`` and ``forget``.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

from newsbot.apps.alerts import saved as saving
from newsbot.apps.alerts.extension import Delivery, Options, Watch, options_from, tell
from newsbot.apps.alerts.outputs import only_log
from newsbot.apps.alerts.rules import Alert, Entry, Message, current
from newsbot.apps.operations.verdict import line_of, verdict
from newsbot.apps.search.articles import searching
from newsbot.backends import open_frontier, open_rules, open_storage, stored
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, when
from newsbot.clock import iso_of, system_clock
from newsbot.errors import UserError
from newsbot.frontier.owners import owner_name

TEST = Alert(
    rule="test",
    subject="newsbot",
    what="this is a test message, not a problem",
    cause=f"{PROGRAM} alerts --test was run",
    todo="nothing",
)


def alerts(call: Call) -> None:
    """Show the current problems, send them (``--send``), or send a test message (``--test``)."""
    options = options_from(call.settings)
    if call.options.test:
        now = system_clock()
        message = Message(event="test", alert=TEST, at=now)
        _tell(call, [Delivery(output, [message]) for output in options.outputs])
        return
    if call.options.send:
        _send(call, options)
        return
    with stored(call.settings) as storage, closing(open_frontier(call.settings)) as frontier:
        found = Watch(storage, frontier, options, owner="", clock=system_clock).found()
        state = verdict(call.settings, storage, frontier, open_rules(call.settings), system_clock())
        sent = {entry.alert.key: entry for entry in current(storage.notes)}
    # The alerts that remain in `sent` were sent, but their problems were not found this time. These alerts
    # will end soon.
    shown = [(one, sent.pop(one.key, None), True) for one in found]
    shown += [(entry.alert, entry, False) for entry in sent.values()]
    now = time.time()
    if not call.json:
        call.note(line_of(state, now))
    call.listing(
        [_plain(*one) for one in shown],
        columns("rule | about | since > | told | what * | likely cause * | what to do *"),
        (
            (
                *(alert.rule, alert.subject, when(_since(alert, entry), now)),
                *(", ".join(entry.told if entry else ()) or "no", alert.what, alert.cause, alert.todo),
            )
            for alert, entry, _ in shown
        ),
        empty=f"no alerts; outputs: {', '.join(output.name for output in options.outputs)}",
    )


def _send(call: Call, options: Options) -> None:
    """Check once and send the messages, as a running crawl does.

    This is for cron jobs on machines where no crawl runs continuously.
    """
    with closing(open_storage(call.settings)) as storage, closing(open_frontier(call.settings)) as frontier:
        watch = Watch(storage, frontier, options, owner=owner_name(system_clock()), clock=system_clock)
        deliveries = watch.look()
        if watch.is_locked_out:
            call.note(
                f"a crawl or {PROGRAM} serve is sending the alerts; if it was killed, try again in 15 minutes"
            )
        try:
            _tell(call, deliveries)
        finally:
            # The deliveries are recorded even if an output failed. Otherwise the other outputs would send
            # their messages again.
            watch.note(deliveries)
            watch.leave()


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


def _since(alert: Alert, entry: Entry | None) -> float | None:
    return alert.since if alert.since is not None or entry is None else entry.alert.since


def _plain(alert: Alert, entry: Entry | None, found_now: bool) -> dict[str, Any]:
    """Return an alert as a JSON-serializable dict.

    ``found_now`` is False if the alert was sent before, but the rules no longer find the problem.
    """
    return {
        "rule": alert.rule,
        "subject": alert.subject,
        "what": alert.what,
        "since": iso_of(_since(alert, entry)),
        "cause": alert.cause,
        "todo": alert.todo,
        "told": {name: iso_of(at) for name, at in entry.told.items()} if entry else {},
        "found_now": found_now,
    }


def save(call: Call) -> None:
    """Save a search under a name."""
    options = call.options
    with closing(open_storage(call.settings)) as storage:
        kept = saving.save(
            storage, options.name, options.query, options.tell, system_clock(), fields=options.fields
        )
    with searching(call.settings) as articles:
        for note in articles.explain(kept.query, found=True):
            call.note(note)
    call.note(f"{kept.name}: saved; notices: {kept.tell}")
    if kept.tell != "off" and (hint := only_log(call.settings)):
        call.note(f"{kept.name}: {hint}")


def saved(call: Call) -> None:
    """List saved searches."""
    with stored(call.settings) as storage:
        found = saving.saved_searches(storage.notes)
    call.listing(
        [one.plain() for one in found],
        columns("name * | tells | notices > | query *"),
        ((one.name, one.tell, one.number, one.query) for one in found),
        empty=f"no search is saved; to save one, run: {PROGRAM} articles save NAME QUERY --tell daily",
    )


def forget(call: Call) -> None:
    """Delete a saved search."""
    with stored(call.settings) as storage:
        if not saving.forget(storage.notes, call.options.name):
            raise UserError(
                f"{call.options.name}: no saved search has this name; see: {PROGRAM} articles saved"
            )
    call.note(f"{call.options.name}: deleted")


ACTIONS = (
    Action(
        "",
        "Show current problems with start, likely cause and remedy, without sending alerts",
        alerts,
        Argument("--test", action="store_true", help="send a test message to all outputs"),
        Argument("--send", action="store_true", help="send the alerts that have not been sent yet"),
    ),
)
