"""Sends alerts to the log, to a webhook, by e-mail, to a command, or to the services of apprise.

All addresses come from the settings of the operator. Private addresses are allowed, because many operators
have a chat server in their own network. Redirects of a webhook are not followed. Logs and errors never
contain passwords or the path of a webhook, because the path is often secret.
"""

from __future__ import annotations

import json
import logging
import shlex
import smtplib
import ssl
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from hashlib import blake2b
from http import HTTPStatus
from typing import Any, Protocol

from newsbot.apps.alerts.rules import Message
from newsbot.apps.alerts.saved import Found
from newsbot.apps.optional import load_optional
from newsbot.apps.outgoing import HttpClient, HttpFault, signing_key, webhook_headers
from newsbot.cli.terminal import clean, one_line
from newsbot.config.settings import SettingsLike, value_of
from newsbot.errors import ArgumentError

logger = logging.getLogger(__name__)

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
