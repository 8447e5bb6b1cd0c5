"""Attacks of one site on another: each is a small server program with a one-line description.

A program registers the pages of ``host`` (the attacker's site) on a local web. Its target is one article of
the victim. It returns the URLs that the attacker's feed lists. The victim answers 200 only under its own
spelling of an address. ``benchmarks.soak --attackers`` runs the same programs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from testbed.articles import article_html
from testbed.mockserver import MockServer

_DIGITS = re.compile("[0-9]+")


@dataclass(frozen=True)
class Attack:
    """One attack; ``run(site, host, aim)`` returns the URLs of the feed. ``aim`` is the article's URL."""

    tries: str
    run: Callable[[MockServer, str, str], list[str]]


def _lists(*spellings: str) -> Callable[[MockServer, str, str], list[str]]:
    """The feed lists the victim's article in these spellings."""
    return lambda site, host, aim: [_spelled(one, aim) for one in spellings]


def _redirects(*spellings: str, status: int = 301) -> Callable[[MockServer, str, str], list[str]]:
    """Articles of the attacker redirect to these spellings."""

    def run(site: MockServer, host: str, aim: str) -> list[str]:
        urls = []
        for number, one in enumerate(spellings):
            url = f"http://{host}/news/{_number(aim)}-{number}"
            site.page(url, status=status, headers={"Location": _spelled(one, aim)})
            urls.append(url)
        return urls

    return run


def _spelled(form: str, aim: str) -> str:
    """Fill in ``{path}``, ``{dir}``, ``{name}`` and the host ``{victim}`` of the article."""
    parts = urlsplit(aim)
    folder, _, name = parts.path.rpartition("/")
    return form.format(
        path=parts.path, dir=folder, name=name, victim=parts.netloc, VICTIM=parts.netloc.upper()
    )


def _number(aim: str) -> int:
    return int(_DIGITS.findall(aim)[-1])


def _chain(site: MockServer, host: str, aim: str) -> list[str]:
    first, second = (f"http://{host}/news/chain-{_number(aim)}-{hop}" for hop in (1, 2))
    site.page(first, status=302, headers={"Location": second})
    site.page(second, status=302, headers={"Location": _spelled(BROKEN, aim)})
    return [first]


def _head(tag: str) -> Callable[[MockServer, str, str], list[str]]:
    """An article of the attacker has this tag in its head."""

    def run(site: MockServer, host: str, aim: str) -> list[str]:
        number = _number(aim)
        url = f"http://{host}/news/head-{number}"
        title = f"Council story number {number} about the bridge"
        site.page(url, article_html(900 + number, title=title, head=_spelled(tag, aim)))
        return [url]

    return run


def _copied(site: MockServer, host: str, aim: str) -> list[str]:
    number = _number(aim)
    url = f"http://{host}/news/copy-{number}"
    site.page(url, article_html(number, head=f"<link rel='canonical' href='{aim}'>"))
    return [url]


def _many_spellings(site: MockServer, host: str, aim: str) -> list[str]:
    return [f"{aim}?utm_campaign={number}" for number in range(20)]


def _goes_away(site: MockServer, host: str, aim: str) -> list[str]:
    url = f"http://{host}/news/gone-{_number(aim)}"
    site.page(url, status=410)
    return [url, f"{aim}?fbclid=1"]


def _redirects_and_lists(site: MockServer, host: str, aim: str) -> list[str]:
    return [*_redirects(BROKEN)(site, host, aim), *_lists(BROKEN)(site, host, aim)]


LISTED = {
    "a tracking key that the server refuses": "http://{victim}{path}?utm_source=bad",
    "a click id": "http://{victim}{path}?fbclid=bad",
    "a session key in the query": "http://{victim}{path}?phpsessid=1",
    "a session key in the path": "http://{victim}{path};jsessionid=1",
    "a repeated slash": "http://{victim}//{dir}//{name}",
    "www. of a site that has none": "http://www.{victim}{path}",
    "https of a site without TLS": "https://{victim}{path}",
    "https and www.": "https://www.{victim}{path}",
    "the default port": "http://{victim}:80{path}?gclid=1",
    "a user in the address": "http://user@{victim}{path}?utm_medium=bad",
    "a default document": "http://{victim}{path}/../{name}?utm_term=1",
    "a fragment and a tracking key": "http://{victim}{path}?utm_content=1#top",
    "a host in upper case, a tracking key": "HTTP://{VICTIM}{path}?mc_eid=1",
    "a dot behind the host, a tracking key": "http://{victim}.{path}?yclid=1",
    "a spelling that robots.txt forbids": "http://{victim}{path}?utm_robots=1",
    "a spelling that leads to the front page": "http://{victim}{path}?utm_home=1",
    "a spelling that gives a page without an article": "http://{victim}{path}?utm_consent=1",
    "a spelling that gives a server error": "http://{victim}{path}?utm_error=1",
    "a spelling whose answer never comes": "http://{victim}{path}?utm_drop=1",
    "a spelling that redirects to itself": "http://{victim}{path}?utm_loop=1",
    "a spelling that is cut off": "http://{victim}{path}?utm_cut=1",
    "a spelling that says that nothing has changed": "http://{victim}{path}?utm_304=1",
    "a spelling that gives a notice in the form of an article": "http://{victim}{path}?utm_notice=1",
    "an empty query with an ampersand": "http://{victim}{path}?&utm_id=1&",
}
"""Spellings of the victim's URL, with a description of the error in each."""

BROKEN = "http://{victim}{path}?utm_source=bad"
HEADS = {
    "its canonical address": "<link rel='canonical' href='http://{victim}{path}'>",
    "in a broken spelling its canonical address": f"<link rel='canonical' href='{BROKEN}'>",
    "its next page": "<link rel='next' href='http://{victim}{path}'>",
    "its first page": "<link rel='first' href='http://{victim}{path}'>",
    "its feed": "<link rel='alternate' type='application/rss+xml' href='http://{victim}{path}'>",
    "its AMP page": f"<link rel='amphtml' href='{BROKEN}'>",
}
"""Tags by which an article of the attacker claims to be an article of the victim, with descriptions."""

ATTACKS = (
    *(Attack(f"lists {what}", _lists(form)) for what, form in LISTED.items()),
    *(
        Attack(f"redirects to {what}", _redirects(form))
        for what, form in list(LISTED.items())[:9] + list(LISTED.items())[14:21]
    ),
    Attack("redirects for a moment to a broken spelling", _redirects(BROKEN, status=302)),
    Attack("redirects with 307 to a broken spelling", _redirects(BROKEN, status=307)),
    Attack("leads over two redirects to a broken spelling", _chain),
    Attack("lists twenty broken spellings of one address", _many_spellings),
    Attack("lists a broken spelling beside a page that is gone", _goes_away),
    Attack("redirects to a broken spelling and lists it", _redirects_and_lists),
    Attack("copies the article and its address", _copied),
    *(Attack(f"calls the victim's article {what}", _head(tag)) for what, tag in HEADS.items()),
)
