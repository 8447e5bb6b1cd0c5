"""What requests to a site carry besides their address: headers, cookies, a name and password, a proxy.

The rule of the site gives them. Secrets are read when the first request to the site is made.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from newsbot.cli.log_lines import LEAST, of_rules
from newsbot.errors import ArgumentError
from newsbot.items import Bounded
from newsbot.pages.rules.rule import Rule, Secret

MAX_SITES = 1_000
"""Maximum number of sites whose secrets are remembered."""
_NETSCAPE = 7
"""Number of columns of a cookies.txt."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The secrets of one site."""

    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)
    proxy: str = ""
    plain_http: bool = False
    """Whether they may be sent without TLS: the rule names an address with ``http``."""

    def are_for(self, url: str) -> bool:
        """Return True if the headers and cookies may be sent to this URL of the site."""
        return self.plain_http or url.startswith("https:")


NOTHING = Credentials()


def credentials_of(rule: Rule) -> Credentials:
    """Return the credentials in a rule.

    Raises :class:`newsbot.errors.ArgumentError` if a variable or a file is missing, or if a secret cannot be
    sent.
    """
    if not (rule.headers or rule.cookies or rule.auth or rule.proxy):
        return NOTHING
    headers = {name: _sent(rule, f"headers.{name}", value) for name, value in rule.headers.items()}
    if rule.auth is not None:
        pair = _sent(rule, "auth", rule.auth)
        if ":" not in pair:
            raise ArgumentError(f"{rule.file}: auth: must be NAME:PASSWORD")
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        _hide(pair.partition(":")[2], headers["Authorization"].removeprefix("Basic "))
    cookies: dict[str, str] = {}
    if isinstance(rule.cookies, Secret):
        cookies = dict(_pairs(_read(rule, "cookies", rule.cookies)))
        if not cookies:
            raise ArgumentError(f"{rule.file}: cookies: no NAME=VALUE in {rule.cookies}")
    elif rule.cookies:
        cookies = {name: _sent(rule, f"cookies.{name}", value) for name, value in rule.cookies.items()}
    _hide(*cookies.values())
    urls = (*rule.seeds, *rule.feeds, *rule.sitemaps, *rule.sections)
    proxy = "" if rule.proxy is None else _sent(rule, "proxy", rule.proxy)
    if proxy and not proxy.startswith(("http://", "https://")):
        raise ArgumentError(f"{rule.file}: proxy: must be an address that begins with http:// or https://")
    return Credentials(headers, cookies, proxy, any(url.startswith("http:") for url in urls))


class SiteCredentials:
    """The credentials of all sites of a crawl."""

    def __init__(self) -> None:
        self._known = Bounded[str, tuple[Rule, Credentials]](MAX_SITES)

    def of(self, rule: Rule) -> Credentials:
        """Return the credentials in a rule. Raises :class:`newsbot.errors.ArgumentError`."""
        known_before = self._known.get(rule.domain)
        if known_before is None or known_before[0] is not rule:
            self._known[rule.domain] = known_before = rule, credentials_of(rule)
        return known_before[1]


def _read(rule: Rule, key: str, secret: Secret) -> str:
    try:
        return secret.read()
    except ValueError as error:
        raise ArgumentError(f"{rule.file}: {key}: {error}") from error


def _sent(rule: Rule, key: str, secret: Secret) -> str:
    """Return a secret that is one line of a header."""
    text = _read(rule, key, secret)
    if not text.isprintable() or not text.isascii():
        raise ArgumentError(f"{rule.file}: {key}: must be one line of ASCII characters")
    _hide(text)
    return text


def _hide(*secrets: str) -> None:
    """Let the logs mask secrets."""
    of_rules.update(secret for secret in secrets if len(secret) >= LEAST)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the cookies in a header of a browser (``a=1; b=2``) or in a cookies.txt."""
    for line in text.splitlines():
        columns = line.removeprefix("#HttpOnly_").split("\t")
        if len(columns) == _NETSCAPE:
            yield columns[5], columns[6]
        elif not line.startswith("#"):
            for pair in line.removeprefix("Cookie:").split(";"):
                name, equals, value = pair.strip().partition("=")
                if equals and name:
                    yield name, value
