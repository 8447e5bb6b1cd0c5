"""``scrapy remove``: deletes all data of a URL or a domain, and blocks it."""

from __future__ import annotations

from contextlib import closing

from newsbot.backends import open_index, open_rules, queued, stored
from newsbot.cli.command import Call
from newsbot.cli.terminal import Column
from newsbot.clock import iso, utc
from newsbot.errors import ArgumentError, UserError
from newsbot.operations.remove import Found, find_domain, find_url, remove, wait_for_crawls
from newsbot.rules import RuleSet
from newsbot.sites.removals import REFRESH, allow_again, buried
from newsbot.storage.base import Storage
from newsbot.urls import host_key


def take_out(call: Call) -> int:
    """Show how many data a URL or domain has, or delete them (``--yes``).

    With ``--list`` or ``--allow``, show or unblock the removed URLs and domains.
    """
    options = call.options
    if options.list:
        return _list(call)
    if not options.what:
        raise ArgumentError("give a URL, a domain, or --list")
    with stored(call.settings) as storage:
        if options.allow:
            return _allow(call, storage)
        rules = open_rules(call.settings)
        found = [_find(what, rules, storage) for what in options.what]
        if options.yes:
            _remove(call, storage, found, rules)
    if call.json:
        call.document([{"what": one.what, **one.counts, "removed": options.yes} for one in found])
        return 0
    names = list(found[0].counts)
    call.table(
        (Column("what", wide=True), *(Column(name, "right") for name in names)),
        ((one.what, *one.counts.values()) for one in found),
    )
    call.note(
        "removed and blocked; WARC files and exports are unchanged"
        if options.yes
        else "nothing was removed; add --yes to delete these data and to block the URL or domain"
    )
    return 0


def _find(what: str, rules: RuleSet, storage: Storage) -> Found:
    try:
        if "://" in what:
            return find_url(what, rules, storage)
        if "/" in what or "." not in what:
            raise ArgumentError(f"{what}: is neither a URL (https://...) nor a domain such as example.org")
        return find_domain(host_key(f"http://{what}/"), storage)
    except ValueError as error:
        raise ArgumentError(f"{what}: {error}") from error


def _remove(call: Call, storage: Storage, found: list[Found], rules: RuleSet) -> None:
    with closing(open_index(call.settings)) as index, queued(call.settings) as frontier:
        for one in found:
            remove(one, storage, index, reason=call.options.reason)
        if not frontier.owners():
            return
        # Pages that a crawl was fetching when the note was written may still be stored.
        call.note(f"a crawl is running: checking again in {REFRESH:.0f} s for data that it stores until then")
        wait_for_crawls(REFRESH + 2)
        for one in found:
            remove(_find(one.what, rules, storage), storage, index, reason=call.options.reason)


def _allow(call: Call, storage: Storage) -> int:
    unknown = [what for what in call.options.what if not allow_again(storage.notes, what)]
    if unknown:
        raise UserError(f"{unknown[0]}: is not blocked; for all blocked ones see: scrapy remove --list")
    call.note("unblocked: may be collected again")
    return 0


def _list(call: Call) -> int:
    with stored(call.settings) as storage:
        kept = buried(storage.notes)
    rows = [(iso(utc(note["at"])), what, note.get("reason", "")) for what, note in kept]
    if call.json:
        call.document([{"at": at, "what": what, "reason": reason} for at, what, reason in rows])
    elif rows:
        call.table((Column("since"), Column("what", wide=True), Column("reason", wide=True)), rows)
    else:
        call.note("nothing is blocked")
    return 0
