"""Runs rounds of alerts. A round measures, applies the rules and sends messages.

A crawl and ``scrapy serve`` run a round every few minutes. ``scrapy alerts --send`` runs one round. Only one
worker of a crawl does this at a time.

Outputs send messages to the log, to a webhook, by e-mail, to a command, or to the services of apprise. All
addresses come from the settings of the operator. Private addresses are allowed, because many operators have a
chat server in their own network. Redirects of a webhook are not followed. Logs and errors never contain
passwords or the path of a webhook, because the path is often secret.

``scrapy alerts``: shows current problems and the alerts that were sent for them, and tests the outputs.

``scrapy articles save``, ``saved`` and ``forget`` keep the saved searches.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shlex
import smtplib
import ssl
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from email.message import EmailMessage
from hashlib import blake2b
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from newsbot import backends
from newsbot.apps.alerts import rules as book
from newsbot.apps.alerts import saved
from newsbot.apps.alerts.rules import (
    RULES,
    Alert,
    Entry,
    Limits,
    Measured,
    Message,
    current,
    find,
    keep_totals,
    measure,
)
from newsbot.apps.alerts.rules import Rule as AlertRule
from newsbot.apps.alerts.saved import Found
from newsbot.apps.followers.following import Follower
from newsbot.apps.numbers import iso_of
from newsbot.apps.operations.verdict import line_of, verdict
from newsbot.apps.optional import load_optional
from newsbot.apps.outgoing import HttpClient, HttpFault, signing_key, webhook_headers
from newsbot.apps.search.articles import searching
from newsbot.apps.search.query import NO_LABELS, Labels, Tagged, open_labels
from newsbot.backends import open_frontier, open_rules, open_storage, stored
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import clean, columns, one_line, when
from newsbot.clock import Clock, system_clock
from newsbot.config.apps import active_apps, load
from newsbot.config.settings import SettingsLike, number_of, value_of
from newsbot.crawl.assembly import Crawl
from newsbot.errors import ArgumentError, DataError, UserError
from newsbot.extensions import Extension
from newsbot.frontier.base import Frontier, owner_name
from newsbot.pages.rules.rule import Rule
from newsbot.spiders.news import NewsSpider
from newsbot.storage.articles import Changes
from newsbot.storage.base import Storage

logger = logging.getLogger(__name__)

# --- outputs
REQUEST_TIMEOUT = 15.0
"""Seconds to wait for the response of a webhook or a mail server."""
COMMAND_TIMEOUT = 60.0
"""Seconds after which a command is killed."""
AT_ONCE = 50
"""Maximum number of messages in one call of :meth:`Output.send`.

All further messages wait for the next round.
"""


class OutputError(Exception):
    """A message could not be sent. The text says why, without secrets."""


class Output(Protocol):
    """A destination of messages."""

    @property
    def name(self) -> str:
        """The permanent name of the output. It is the key in the records of sent messages."""

    def send(self, messages: Sequence[Message | Found]) -> None:
        """Send all messages.

        Raises :class:`OutputError` if any message fails. The caller then sends all messages again later.
        """


class LogOutput:
    """Logs messages at level WARNING."""

    name = "log"

    def send(self, messages: Sequence[Message | Found]) -> None:
        """See :class:`Output`."""
        for message in messages:
            logger.warning("alert %s", message.line)


@dataclass(frozen=True, slots=True, repr=False)
class Webhook:
    """Sends messages as one JSON object by POST.

    Chats (Slack, Mattermost, Rocket.Chat) read the member ``text`` of the object. Programs read the member
    ``alerts``.
    """

    url: str
    user_agent: str = "newsbot"
    key: bytes = b""
    """The key that signs the messages (Standard Webhooks); empty for no signature."""
    name: str = "webhook"

    def send(self, messages: Sequence[Message | Found]) -> None:
        """See :class:`Output`."""
        document = {"text": _joined(messages), "alerts": [one.plain() for one in messages]}
        body = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
        client = HttpClient(self.url, patience=REQUEST_TIMEOUT, user_agent=self.user_agent)
        # The same messages have the same id when they are sent again, so that the receiver can drop them.
        message_id = f"msg_{blake2b(json.dumps(document['alerts']).encode(), digest_size=12).hexdigest()}"
        signed = webhook_headers(self.key, message_id, int(time.time()), body)
        try:
            status, _body = client.send("POST", "", body, {"Content-Type": "application/json", **signed})
        except HttpFault as fault:
            raise OutputError(str(fault)) from None
        if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            raise OutputError(f"{client.place} returned HTTP {status}")


@dataclass(frozen=True, slots=True, repr=False)
class Mail:
    """Sends all messages in one plain-text e-mail, through the server in Scrapy's ``MAIL_`` settings."""

    to: tuple[str, ...]
    sender: str
    host: str = "localhost"
    port: int = 25
    user: str = ""
    password: str = ""
    tls: bool = False
    """True to use STARTTLS."""
    ssl: bool = False
    """True to use TLS from the start of the connection; ``tls`` is then ignored."""
    name: str = "mail"

    def send(self, messages: Sequence[Message | Found]) -> None:
        """See :class:`Output`."""
        letter = EmailMessage()
        first = messages[0].title
        more = f" and {len(messages) - 1} more" if len(messages) > 1 else ""
        letter["Subject"] = one_line(f"[newsbot] {first}{more}")[:200]
        letter["From"], letter["To"] = self.sender, ", ".join(self.to)
        letter["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office replies
        letter.set_content(clean("\n\n".join(one.letter for one in messages)) + "\n")
        context = ssl.create_default_context()
        try:
            server = (
                smtplib.SMTP_SSL(self.host, self.port, timeout=REQUEST_TIMEOUT, context=context)
                if self.ssl
                else smtplib.SMTP(self.host, self.port, timeout=REQUEST_TIMEOUT)
            )
            with server:
                if self.tls and not self.ssl:
                    server.starttls(context=context)
                if self.user:
                    server.login(self.user, self.password)
                server.send_message(letter)
        except (OSError, smtplib.SMTPException, ValueError) as error:
            code = getattr(error, "smtp_code", "")
            reason = f"{type(error).__name__} {code}".strip()
            raise OutputError(
                f"the mail server {self.host}:{self.port} did not accept the message ({reason})"
            ) from None


@dataclass(frozen=True, slots=True, repr=False)
class Command:
    """Runs a program without a shell. The program receives the messages as a JSON list on stdin."""

    words: tuple[str, ...]
    name: str = "command"

    def send(self, messages: Sequence[Message | Found]) -> None:
        """See :class:`Output`."""
        document = json.dumps([one.plain() | {"text": one.text} for one in messages])
        try:
            done = subprocess.run(  # noqa: S603  (from the operator's settings, without a shell)
                self.words,
                input=document.encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=COMMAND_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise OutputError(f"{self.words[0]} was killed after {COMMAND_TIMEOUT:g} s") from None
        except (OSError, ValueError) as error:
            raise OutputError(f"{self.words[0]} cannot be started ({type(error).__name__})") from None
        if done.returncode:
            raise OutputError(f"{self.words[0]} ended with exit code {done.returncode}")


@dataclass(frozen=True, slots=True, repr=False)
class Apprise:
    """Sends messages to one service that the package apprise knows. ``service`` is an object of apprise."""

    service: Any
    name: str

    def send(self, messages: Sequence[Message | Found]) -> None:
        """See :class:`Output`."""
        body = clean("\n\n".join(one.letter for one in messages))
        try:
            is_sent = self.service.notify(body=body, title=f"[newsbot] {one_line(messages[0].title)}"[:200])
        except Exception as error:  # noqa: BLE001  (services of apprise raise anything)
            raise OutputError(f"{self.name} failed ({type(error).__name__})") from None
        if not is_sent:
            raise OutputError(f"{self.name} did not accept the message")


def _services(addresses: str) -> Iterator[Apprise]:
    """Yield an output for each address, so that a fault of one does not repeat the messages of the others."""
    if not addresses.split():
        return
    package = load_optional("apprise", "apprise", "NEWSBOT_ALERT_APPRISE")
    for number, address in enumerate(addresses.split(), start=1):
        service = package.Apprise(asset=package.AppriseAsset(app_id="newsbot", secure_logging=True))
        if not service.add(address):  # the address may be secret
            raise ArgumentError(f"NEWSBOT_ALERT_APPRISE: apprise does not know the form of address {number}")
        digest = blake2b(address.encode(), digest_size=3).hexdigest()
        yield Apprise(service, f"{address.partition(':')[0]} {digest}")


def outputs_from(settings: SettingsLike) -> list[Output]:
    """Return the outputs that the settings name. The log is always the first one.

    Raises :class:`ArgumentError` for an invalid setting.
    """
    found: list[Output] = [LogOutput()]
    if url := value_of(settings, "NEWSBOT_ALERT_WEBHOOK"):
        if not url.isascii():  # the error does not quote the URL, because its path may be secret
            raise ArgumentError("NEWSBOT_ALERT_WEBHOOK: write the host name in its ASCII form (xn--…)")
        key = signing_key(str(value_of(settings, "NEWSBOT_ALERT_SECRET") or ""))
        found.append(Webhook(url, str(settings.get("USER_AGENT") or "newsbot"), key))
    if to := tuple(filter(None, map(str.strip, value_of(settings, "NEWSBOT_ALERT_MAIL")))):
        found.append(_mail(settings, to))
    given = settings.get("NEWSBOT_ALERT_COMMAND")
    try:
        words = tuple(map(str, given)) if isinstance(given, list | tuple) else tuple(shlex.split(given or ""))
    except ValueError as error:
        raise ArgumentError(f"NEWSBOT_ALERT_COMMAND: cannot be split into words ({error})") from error
    if words:
        found.append(Command(words))
    found += _services(str(value_of(settings, "NEWSBOT_ALERT_APPRISE") or ""))
    return found


def only_log(settings: SettingsLike) -> str:
    """Return a hint if notices go to the log only, else an empty text. Raises :class:`ArgumentError`."""
    if len(outputs_from(settings)) > 1:
        return ""
    return (
        "notices go to the log only, because no other output is set; set NEWSBOT_ALERT_WEBHOOK, "
        "NEWSBOT_ALERT_MAIL, NEWSBOT_ALERT_COMMAND or NEWSBOT_ALERT_APPRISE"
    )


def _mail(settings: SettingsLike, to: tuple[str, ...]) -> Mail:
    if not all("@" in one and one.isprintable() and " " not in one for one in to):
        raise ArgumentError("NEWSBOT_ALERT_MAIL: write e-mail addresses, separated by commas")
    try:
        port = int(settings.get("MAIL_PORT") or 25)
    except (TypeError, ValueError):
        port = 0
    if not 0 < port < 65_536:
        raise ArgumentError(f"MAIL_PORT={settings.get('MAIL_PORT')}: must be a port (1 to 65535)")
    return Mail(
        to=to,
        sender=str(settings.get("MAIL_FROM") or to[0]),
        host=str(settings.get("MAIL_HOST") or "localhost"),
        port=port,
        user=str(settings.get("MAIL_USER") or ""),
        password=str(settings.get("MAIL_PASS") or ""),
        tls=_is_on(settings.get("MAIL_TLS")),
        ssl=_is_on(settings.get("MAIL_SSL")),
    )


def _is_on(given: Any) -> bool:
    return str(given or "").lower() in ("1", "true", "yes")


def _joined(messages: Sequence[Message | Found]) -> str:
    return clean("\n\n".join(one.text for one in messages))


# --- rounds
EVERY = 300.0
"""Seconds between two rounds if NEWSBOT_ALERT_EVERY is not set."""


@dataclass(slots=True)
class Delivery:
    """The messages for an output. ``done`` is True once the output has received them."""

    output: Output
    messages: list[Message | Found]
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of alerts."""

    outputs: tuple[Output, ...]
    limits: Limits
    every: float
    """Seconds between two rounds; 0 means that no rounds are run."""
    folder: Path | None
    """The data folder, whose disk is watched."""
    tagged: Tagged
    """Returns the sites of a tag, for queries of saved searches."""
    labels: Labels = NO_LABELS
    """Finds the labels of articles, for queries of saved searches."""
    rules: Mapping[str, AlertRule] = field(default_factory=lambda: RULES)
    """The alert rules by name, with those of other apps."""


def options_from(settings: SettingsLike) -> Options:
    """Return the options that the settings describe. Raises :class:`ArgumentError`."""
    given = settings.get("NEWSBOT_ALERTS_OFF") or ""
    words = given if isinstance(given, list | tuple) else str(given).replace(",", " ").split()
    rules = dict(RULES)
    for app in active_apps(settings.get("NEWSBOT_APPS")):
        rules |= {name: load(place) for name, place in app.alert_rules.items()}
    for word in words:
        if word not in rules:
            raise ArgumentError(f"NEWSBOT_ALERTS_OFF={word}: is not an alert rule ({', '.join(rules)})")
    present = backends.present_rules(settings)
    return Options(
        outputs=tuple(outputs_from(settings)),
        limits=Limits(
            lag=number_of(settings, "NEWSBOT_ALERT_LAG"),
            disk=number_of(settings, "NEWSBOT_ALERT_DISK"),
            off=frozenset(map(str, words)),
        ),
        rules=rules,
        every=number_of(settings, "NEWSBOT_ALERT_EVERY"),
        folder=backends.data_folder(settings),
        tagged=lambda tag: present.get().tagged(tag),
        labels=open_labels(settings),
    )


def check(settings: SettingsLike, rules: Iterable[Rule]) -> None:  # noqa: ARG001  (the form of all checks)
    """Raise :class:`ArgumentError` if a setting of the alerts is invalid."""
    options_from(settings)


class Watch:
    """Runs the rounds of one process. A round calls :meth:`look`, then :func:`tell`, then :meth:`note`.

    :meth:`look` and :meth:`note` use the data. :func:`tell` uses the network, so it can run in another
    thread.
    """

    def __init__(
        self, storage: Storage, frontier: Frontier, options: Options, *, owner: str, clock: Clock
    ) -> None:
        self._storage, self._frontier = storage, frontier
        self._notes = storage.notes
        self._options, self._owner, self._clock = options, owner, clock
        self._book: dict[str, book.Entry] = {}
        self.is_locked_out = False
        """True if another process held the lock at the last :meth:`look`."""

    def found(self) -> list[Alert]:
        """Return the current alerts without storing anything. Raises :class:`newsbot.errors.DataError`."""
        measured = self._measured(self._clock())
        return find(measured, self._options.limits, self._options.rules)

    def _measured(self, now: float) -> Measured:
        options = self._options
        return measure(self._storage, self._frontier, options.folder, now, options.limits.lag)

    def look(self) -> list[Delivery]:
        """Measure, apply the rules, and return the messages to send.

        The list is empty while another process holds the lock. Raises :class:`newsbot.errors.DataError`.
        """
        now = self._clock()
        # Each round renews the lock. If the process that holds it has died, another process gets it after
        # three rounds.
        seconds = 3 * (self._options.every or EVERY)
        self.is_locked_out = not book.take_lock(self._notes, self._owner, now, seconds)
        if self.is_locked_out:
            return []
        measured = self._measured(now)
        keep_totals(self._notes, measured)
        kept = book.entries(self._notes)
        self._book = book.updated(kept, find(measured, self._options.limits, self._options.rules), now)
        found = found_by_searches(self._storage, self._options, self._owner, now)
        deliveries = []
        for output in self._options.outputs:
            messages: list[Message | Found] = [
                *book.messages_for(output.name, self._book),
                *found.get(output.name, ()),
            ]
            deliveries.append(Delivery(output, messages[:AT_ONCE]))
        # The process may be killed while it sends messages, so the entries are stored first.
        book.write(self._notes, self._notes.all(book.KIND), self._book, now)
        return [one for one in deliveries if one.messages]

    def note(self, deliveries: Sequence[Delivery]) -> None:
        """Record which messages were sent.

        Raises :class:`newsbot.errors.DataError`; the messages are then sent again.
        """
        if not deliveries:  # another process may hold the lock, and its entries must not be overwritten
            return
        now = self._clock()
        told = [(one.output.name, message) for one in deliveries if one.done for message in one.messages]
        for name, message in told:
            if isinstance(message, Message):
                book.note_told(self._book, name, [message], now)
        book.write(self._notes, self._notes.all(book.KIND), self._book, now)
        note_found(self._storage, self._options, self._owner, deliveries, now)

    def leave(self) -> None:
        """Release the lock, so that another process can send alerts.

        Raises :class:`newsbot.errors.DataError`.
        """
        book.drop_lock(self._notes, self._owner)


SEARCHES_LOCK = ("alerts", "searches")
"""Name of the lock of the process that sends notices of saved searches."""
LOCK_TIMEOUT = 5.0
"""Maximum number of seconds that :class:`SearchNotices` waits for this lock."""
SENDING = 120.0
"""Maximum number of seconds for which a process keeps this lock."""


def found_by_searches(storage: Storage, options: Options, owner: str, now: float) -> dict[str, list[Found]]:
    """Match the saved searches against new articles. Return the notices to send, by name of the output.

    Nothing is returned while another process sends notices. Raises :class:`newsbot.errors.DataError`.
    """
    if not book.take_lock(storage.notes, owner, now, SENDING, SEARCHES_LOCK):
        return {}
    saved.look(storage, options.tagged, now, options.labels)
    found = {one.name: saved.messages_for(one.name, storage) for one in options.outputs}
    if not any(found.values()):
        book.drop_lock(storage.notes, owner, SEARCHES_LOCK)
    return found


def note_found(storage: Storage, options: Options, owner: str, told: Iterable[Delivery], now: float) -> None:
    """Record which notices of saved searches were sent. Raises :class:`newsbot.errors.DataError`."""
    found = [(one.output.name, message) for one in told if one.done for message in one.messages]
    notices = [(name, message) for name, message in found if isinstance(message, Found)]
    saved.note_told(storage.notes, notices, [one.name for one in options.outputs], now)
    book.drop_lock(storage.notes, owner, SEARCHES_LOCK)


class SearchNotices(Follower):
    """Sends notices of saved searches with ``at_once`` soon after articles were stored.

    It is a follower (:class:`newsbot.apps.followers.following.Follower`). The rounds of :class:`Watch` send
    the other notices, and notices that could not be sent.
    """

    def __init__(self, settings: SettingsLike, options: Options) -> None:
        self._settings, self._options = settings, options
        self._storage: Storage | None = None
        self._owner = f"{owner_name(system_clock())} searches"

    def is_idle(self) -> bool:
        """Return True if no search sends its notices at once."""
        return not self._searches()

    def position(self) -> str:
        """Return the position of a search that lacks changes; the end of the changes if none does."""
        end = self._data().articles.end_of_changes()
        return next((one.cursor for one in self._searches() if one.cursor != end), end)

    def take(self, changes: Changes) -> None:
        """Look for new articles of the searches. The searches have their own positions in the changes."""
        if not changes.found:
            return
        storage, now = self._data(), system_clock()
        # A round of alerts may hold the lock for a moment. What it does not send is sent by the next round.
        give_up = time.monotonic() + LOCK_TIMEOUT
        while not book.take_lock(storage.notes, self._owner, system_clock(), SENDING, SEARCHES_LOCK):
            if time.monotonic() > give_up:
                return
            time.sleep(0.1)
        found = found_by_searches(storage, self._options, self._owner, now)
        deliveries = [Delivery(one, [*found.get(one.name, ())][:AT_ONCE]) for one in self._options.outputs]
        deliveries = [one for one in deliveries if one.messages]
        if deliveries:
            for fault in tell(deliveries):
                logger.error("notice not sent fault=%s", fault)
            note_found(storage, self._options, self._owner, deliveries, system_clock())

    def _data(self) -> Storage:
        # The storage is opened by the thread that runs the follower, to which SQLite binds it.
        if self._storage is None:
            self._storage = backends.open_storage(self._settings)
        return self._storage

    def _searches(self) -> list[saved.SavedSearch]:
        return [one for one in saved.saved_searches(self._data().notes) if one.tell == "at_once"]

    def close(self) -> None:
        """Close the storage."""
        if self._storage is not None:
            self._storage.close()
            self._storage = None


def followers(settings: SettingsLike) -> dict[str, Follower]:
    """Return the follower of saved searches by name; nothing if alerts are off."""
    options = options_from(settings)
    return {"saved searches": SearchNotices(settings, options)} if options.every else {}


def tell(deliveries: Sequence[Delivery]) -> list[str]:
    """Send the messages, and return one line of text for each output that failed.

    The function blocks while it sends, so do not call it in the thread of the reactor.
    """
    faults = []
    for one in deliveries:
        try:
            one.output.send(one.messages)
            one.done = True
        except OutputError as error:
            faults.append(f"alerts: {one.output.name}: {error}; the alerts are sent again in the next round")
    return faults


async def one_round(watch: Watch, run: Callable[..., Awaitable[Any]]) -> None:
    """Check for alerts and send them. ``run`` calls a function in the thread of the storage.

    Raises :class:`newsbot.errors.DataError`.
    """
    deliveries = await run(watch.look)
    if deliveries:
        # Sending may take long, so it runs in a thread of its own. The results are stored afterwards.
        for fault in await asyncio.to_thread(tell, deliveries):
            logger.error("alert not sent fault=%s", fault)
        await run(watch.note, deliveries)


FIRST_AFTER = 60.0
"""Maximum number of seconds from the start of the crawl to the first check.

A crawl that starts after a break finds pages that are late. When the first check runs, these pages are
already being fetched, so they do not cause an alert.
"""


class Alerts(Extension):
    """Checks for alerts and sends them.

    Settings: NEWSBOT_ALERT_EVERY (seconds between two checks; 0 means never), and the settings that say where
    alerts are sent.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        try:
            self.options = options_from(crawler.settings)
        except (ArgumentError, ValueError) as error:
            raise NotConfigured(str(error)) from error
        if not self.options.every:
            raise NotConfigured
        self._watch: Watch | None = None
        self._round: asyncio.Task[None] | None = None
        self._due = 0.0

    def spider_opened(self, spider: Spider) -> None:
        """Start the checks, if this is a news crawl and it stores its results."""
        crawl = Crawl.of(self.crawler)
        context = self._context = crawl.context
        stores = isinstance(spider, NewsSpider) and not crawl.scope.arguments.dry_run
        if not stores or not context.is_open:
            return
        self._watch = Watch(
            context.storage, context.frontier, self.options, owner=crawl.owner, clock=context.clock
        )
        crawl.before_close.append(self._watch.leave)
        first = min(FIRST_AFTER, self.options.every)
        self._due = context.clock() + first
        self.repeat(self._look, first)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Stop the checks. Another worker takes over when the lock is released or, after a crash, expires."""
        super().spider_closed(spider, reason)
        if self._round is not None:
            # A thread that sends a message is not interrupted, but its result is not stored.
            self._round.cancel()

    def _look(self) -> None:
        """Start a check if it is due and the last one has ended."""
        now = self._context.clock()
        if now < self._due or (self._round is not None and not self._round.done()):
            return
        # The timer runs every ``first`` seconds, which may be shorter than NEWSBOT_ALERT_EVERY.
        self._due = now + self.options.every
        self._round = asyncio.ensure_future(self._once())

    async def _once(self) -> None:
        assert self._watch is not None
        try:
            await one_round(self._watch, Crawl.of(self.crawler).context.calls.run)
        except DataError:  # the outage is logged already; the next check tries again
            return
        except Exception:
            logger.exception("the check for alerts failed; it is tried again")


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
        kept = saved.save(
            storage, options.name, options.query, options.tell, system_clock(), fields=options.fields
        )
    with searching(call.settings) as articles:
        for note in articles.explain(kept.query, found=True):
            call.note(note)
    call.note(f"{kept.name}: saved; notices: {kept.tell}")
    if kept.tell != "off" and (hint := only_log(call.settings)):
        call.note(f"{kept.name}: {hint}")


def list_saved(call: Call) -> None:
    """List saved searches."""
    with stored(call.settings) as storage:
        found = saved.saved_searches(storage.notes)
    call.listing(
        [one.plain() for one in found],
        columns("name * | tells | notices > | query *"),
        ((one.name, one.tell, one.number, one.query) for one in found),
        empty=f"no search is saved; to save one, run: {PROGRAM} articles save NAME QUERY --tell daily",
    )


def forget(call: Call) -> None:
    """Delete a saved search."""
    with stored(call.settings) as storage:
        if not saved.forget(storage.notes, call.options.name):
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
