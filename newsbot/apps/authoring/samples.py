"""Saved pages with their expected fields, which are used to test the rules (``scrapy rules test``).

A case is a folder ``<domain>/<case>/``. ``page.html`` is the response body, ``meta.json`` has ``url`` and
``fetched_at``, and ``expected.json`` has the fields to compare.

The extension saves the first article pages of a crawl as files, for writing and testing rules.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from newsbot.backends import open_rules, rules_folder
from newsbot.cli.command import FAULT, Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import Column, counted
from newsbot.clock import from_iso, iso
from newsbot.crawl.assembly import Crawl
from newsbot.errors import ArgumentError, NotAnArticle
from newsbot.extensions import Extension
from newsbot.items import Article
from newsbot.pages.extraction import read_page
from newsbot.pages.rules.rule import Rule

logger = logging.getLogger(__name__)

FIELDS = (
    "title", "text", "summary", "authors", "published_at", "modified_at", "language", "section", "tags",
    "image", "canonical_url",
)  # fmt: skip
"""Fields that are written into ``expected.json`` of a new case."""
MAX_PAGE = 20 * 2**20
"""Maximum number of bytes of a page that are read."""


@dataclass(frozen=True, slots=True)
class Case:
    """One saved page."""

    domain: str
    name: str
    folder: Path

    def check(self, rule: Rule) -> list[dict[str, Any]]:
        """Read the page with the rule, and return the fields whose values differ from the expected values.

        Each row has the ``domain``, the ``case``, the ``field``, and the values ``expected`` and ``got``.
        Raises :class:`ArgumentError` for missing or damaged files.
        """
        meta, expected = self._json("meta.json"), self._json("expected.json")
        try:
            with (self.folder / "page.html").open("rb") as stream:
                body = stream.read(MAX_PAGE)
            # The time of the download is passed on, so that the result is the same on any later day.
            got = read_page(
                body, str(meta["url"]), rule=rule, now=from_iso(meta.get("fetched_at")), vouched=True
            ).to_dict()
        except OSError as error:
            raise ArgumentError(f"{self.folder / 'page.html'}: cannot be read ({error.strerror})") from error
        except KeyError as error:
            raise ArgumentError(f"{self.folder / 'meta.json'}: has no 'url'") from error
        except NotAnArticle as error:
            expected, got = {"article": "an article"}, {"article": f"none: {error.reason}"}
        about = {"domain": self.domain, "case": self.name}
        return [
            {**about, "field": field, "expected": value, "got": got.get(field)}
            for field, value in expected.items()
            if got.get(field) != value
        ]

    def _json(self, name: str) -> Mapping[str, Any]:
        path = self.folder / name
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ArgumentError(f"{path}: cannot be read as JSON ({error})") from error
        if not isinstance(value, dict):
            raise ArgumentError(f"{path}: is not a JSON object")
        return value


def find_cases(folder: Path, domains: list[str]) -> Iterator[Case]:
    """Yield the cases in a folder. If ``domains`` is not empty, only the cases of these domains are yielded.

    Raises :class:`ArgumentError` if the folder or a domain has no cases.
    """
    for domain in domains:
        if not (folder / domain).is_dir():
            raise ArgumentError(
                f"{folder / domain}: there are no saved pages; {PROGRAM} rules new {domain} makes one"
            )
    if not folder.exists():
        raise ArgumentError(f"{folder}: there are no saved pages; {PROGRAM} rules new DOMAIN makes one")
    try:
        sites = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError as error:
        raise ArgumentError(f"{folder}: cannot be read ({error.strerror})") from error
    for site in sites:
        if not domains or site.name in domains:
            for case in sorted(path for path in site.iterdir() if path.is_dir()):
                yield Case(site.name, case.name, case)


def write_case(place: Path, page: bytes, sample: Mapping[str, Any], rule: Rule) -> Path:
    """Save a page as a case in the folder ``place``, and return this folder.

    The expected fields are the fields that ``rule`` reads from the page, without data from a feed. ``sample``
    has ``url`` and ``fetched_at``. Raises ``OSError``, and :class:`NotAnArticle` if the rule finds no
    article.
    """
    place.mkdir(parents=True, exist_ok=True)
    item = read_page(
        page, sample["url"], rule=rule, now=from_iso(sample["fetched_at"]), vouched=True
    ).to_dict()
    expected = {field: item[field] for field in FIELDS if item.get(field)}
    (place / "page.html").write_bytes(page)
    for file, value in (
        ("meta.json", {"url": sample["url"], "fetched_at": sample["fetched_at"]}),
        ("expected.json", expected),
    ):
        (place / file).write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return place


_SHOWN = 200
"""Maximum number of characters of a value that the table shows."""


def test_rules(call: Call) -> int:
    """Run ``scrapy rules test``: compare each field of each case. The exit code is 1 if any field differs."""
    folder = call.options.fixtures or _beside(call)
    rules = open_rules(call.settings)
    rows: list[dict[str, Any]] = []
    number = 0
    for case in find_cases(folder, call.options.domains):
        number += 1
        rows += case.check(rules.for_url(f"https://{case.domain}/"))
    if call.json:
        call.document({"cases": number, "differences": rows})
        return FAULT if rows else 0
    if rows:
        names = ("domain", "case", "field", "expected", "got")
        columns = [Column(name, wide=name in names[3:]) for name in names]
        call.table(columns, [[_short(row[name]) for name in names] for row in rows])
    call.text(f"{counted(number, 'saved page')}; fields that differ: {len(rows)}")
    return FAULT if rows else 0


def _beside(call: Call) -> Path:
    """Return the default folder of cases: ``tests/sites`` in the folder that contains the rules folder."""
    folder = rules_folder(call.settings)
    if not isinstance(folder, Path):
        raise ArgumentError(
            "the rules are inside the package; name the folder of saved pages with --fixtures"
        )
    return folder.parent / "tests" / "sites"


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


MAX_SAMPLES = 8
"""Maximum number of pages that are saved."""


class Samples(Extension):
    """Saves pages into the folder NEWSBOT_SAMPLES; an empty setting switches this off.

    The file ``crawl.json`` in this folder has the Crawl-delays of the hosts.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        name = crawler.settings.get("NEWSBOT_SAMPLES")
        if not name:
            raise NotConfigured
        self.folder = Path(name).expanduser()
        self._number = 0

    def item_scraped(self, item: object, response: Response, spider: Spider) -> None:
        """Save the page of a stored article."""
        if not isinstance(item, Article) or self._number >= MAX_SAMPLES:
            return
        # ``response`` is the page as the spider got it: decompressed and, if the rule says so, rendered.
        meta = {"url": item.url, "fetched_at": iso(item.fetched_at) if item.fetched_at else None}
        self._number += 1
        self._write(f"{self._number}.html", response.body)
        self._write(f"{self._number}.json", json.dumps({**meta, "item": item.to_dict()}).encode())

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Write the Crawl-delays of the sites' robots.txt."""
        politeness = Crawl.of(self.crawler).politeness
        asked = politeness.crawl_delays.items()
        # A Crawl-delay is left out if the rule has a longer delay.
        delays = {host: delay for host, delay in asked if 0 < delay == politeness.delay_of(host)}
        self._write("crawl.json", json.dumps({"crawl_delays": delays}).encode())

    def _write(self, name: str, content: bytes) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(content)
        except OSError as error:
            logger.error("samples cannot be written NEWSBOT_SAMPLES=%s fault=%s", self.folder, error.strerror)
