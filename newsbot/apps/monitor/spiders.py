"""The spiders ``monitor`` and ``search``.

``scrapy crawl monitor`` requests every known page of sites and stores status, size and other data. The
results show broken links, redirects and changes. ``scrapy crawl search`` searches the pages of sites for
texts and stores where each text was found. Delays and robots.txt apply as in a news crawl.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from lxml.html import HtmlElement
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import StopDownload
from scrapy.http import Response
from twisted.python.failure import Failure
from w3lib.encoding import http_content_type_encoding

from newsbot.apps.monitor.page_check import Target, faults_in, needs_get, next_hop, to_check, written_faults
from newsbot.apps.monitor.report import site_report, write_reports
from newsbot.apps.monitor.results import PageCheck, SearchResult, checks_of, keep_report, searches_of
from newsbot.apps.monitor.side_spiders import SideSpider, fronts
from newsbot.apps.search.phrases import Finder, Places, Wanted
from newsbot.cli.program import PROGRAM
from newsbot.clock import parse_duration
from newsbot.crawl.context import MAX_HOSTS
from newsbot.crawl.failures import NO_TLS, cause_for, cause_of, cause_of_status
from newsbot.crawl.scope import Arguments, address, addresses, count, given_values, lines_of, words
from newsbot.crawl.visit import ASIDE_KEY
from newsbot.errors import ArgumentError, DataError, NotAnArticle
from newsbot.items import Bounded, Link, PageRecord, batched
from newsbot.middlewares import content_type_of, tree_of
from newsbot.pages.discovery.list_pages import find_links, trap
from newsbot.pages.extraction.visible import plain_lines, visible_text
from newsbot.pages.rules.rule import Rule
from newsbot.pages.text.codings import decode
from newsbot.recrawl.planning import may_retry
from newsbot.storage.base import Storage
from newsbot.urls import canonicalize, fingerprint, host_key

logger = logging.getLogger(__name__)

MAX_PAGES = 10_000
"""Default of ``max_pages`` with ``follow=links``, because a site may have endless pages."""

MONITOR_HELP = {
    "sites": "domains of rule files, comma separated (default: all rules)",
    "method": "head (the default; GET if the host refuses HEAD) or get (conditional, headers only)",
    "follow": "known (the pages of the crawl database; the default) or links (pages are read, and their "
    "links within the site are checked too)",
    "max_pages": f"maximum number of requested pages (default: all known; {MAX_PAGES} with follow=links)",
    "min_age": "leave out pages that were checked within this time: min_age=12h",
    "report": "write the report on each site to this file: report.html or report.json",
}
"""The meaning of each argument. Error messages show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitoring:
    """The arguments of one run."""

    method: str = "HEAD"
    """``HEAD`` or ``GET``."""
    follow: str = "known"
    """``known`` or ``links``."""
    max_pages: int | None = None
    min_age: float = 0.0
    """Minimum number of seconds since the last check of a page.

    Pages that were checked more recently are left out.
    """
    report: Path | None = None
    scope: Arguments
    """The arguments that all spiders have. They name the sites."""


def parse_monitoring(given: Mapping[str, Any]) -> Monitoring:
    """Return the checked arguments. Raises :class:`ArgumentError`, whose message says what is allowed."""
    values = given_values(given, MONITOR_HELP)
    follow = _one_of(values, MONITOR_HELP, "follow", "known", "links")
    most = count("max_pages", values.get("max_pages"), MONITOR_HELP)
    return Monitoring(
        method=_one_of(values, MONITOR_HELP, "method", "head", "get").upper(),
        follow=follow,
        max_pages=most or (MAX_PAGES if follow == "links" else None),
        min_age=_age(values.get("min_age")),
        report=_report(values.get("report")),
        scope=Arguments(sites=_sites(values)),
    )


def _one_of(values: Mapping[str, str], known: Mapping[str, str], name: str, *allowed: str) -> str:
    """Return the value of an argument; the first allowed value is the default."""
    value = values.get(name) or allowed[0]
    if value.lower() not in allowed:
        raise ArgumentError(f"{name}={value}: invalid value; {name}: {known[name]}")
    return value.lower()


def _sites(values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words(values.get("sites")))


def _age(value: str | None) -> float:
    try:
        return parse_duration(value) if value else 0.0
    except ValueError as error:
        raise ArgumentError(f"min_age={value}: {error}") from error


def _report(value: str | None) -> Path | None:
    if not value:
        return None
    path = Path(value).expanduser()
    if path.suffix.lower() not in (".html", ".json"):
        raise ArgumentError(f"report={value}: name a file that ends in .html or .json")
    if not path.absolute().parent.is_dir():
        raise ArgumentError(f"report={value}: there is no folder {path.absolute().parent}")
    return path


HEADERS_ONLY = "headers_only"
"""Request meta key: True if the body of the response is not needed."""
AHEAD = 500
"""Maximum number of waiting requests per site. All other pages are read from the crawl database later."""
TRIES = 3
"""Maximum number of further tries of a page after a temporary error."""


class _SiteSpider(SideSpider):
    """The base class of both spiders. The messages of wrong arguments say what is allowed."""

    parse_arguments: Callable[[Mapping[str, Any]], Any]
    """Returns the checked arguments, with ``scope`` and ``max_pages``."""

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name)
        self.asked = type(self).parse_arguments(arguments)
        self.arguments, self.max_pages = self.asked.scope, self.asked.max_pages

    @classmethod
    def read_arguments(cls, given: Mapping[str, Any], _now: datetime) -> Arguments:
        """Return the arguments that all spiders share."""
        scope: Arguments = cls.parse_arguments(given).scope
        return scope

    @staticmethod
    def again(request: Request, cause: str, most: int) -> Request | None:
        """Return the next of at most ``most`` further tries, or None if the error is not temporary."""
        tries = int(request.meta[ASIDE_KEY]) + 1
        if tries > most or not may_retry(cause, tries):
            return None
        return request.replace(meta={**request.meta, ASIDE_KEY: tries})


class MonitorSpider(_SiteSpider):
    """Checks pages. Its arguments are in :class:`Monitoring`."""

    name = "monitor"
    parse_arguments = staticmethod(parse_monitoring)
    asked: Monitoring

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name, **arguments)
        self.counted: dict[str, dict[str, int]] = {}
        """The number of checks, by site and verdict."""
        self._no_head = Bounded[str, None](MAX_HOSTS)
        """Hosts that refuse the method HEAD."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> MonitorSpider:
        """Make the spider as Scrapy does."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.headers_received, signal=signals.headers_received)
        return spider

    @property
    def storage(self) -> Storage:
        """The storage of the crawl."""
        return self.context.storage

    # --- requests
    async def start(self) -> AsyncIterator[Any]:
        """Yield requests for the pages of all sites in turn, at most :data:`AHEAD` per site in advance."""
        rules = {rule.domain: rule for rule in self.crawl.scope.selected_rules()}
        self.counted = {domain: {} for domain in rules}
        left = {domain: self._requests(rule) for domain, rule in rules.items()}
        while left:
            # The sites are served in turn, so that one large site does not delay all other sites.
            given, waiting = 0, self.side.waiting()
            for domain in list(left):
                if waiting[domain] >= AHEAD:
                    continue
                try:
                    some = await self.context.calls.run(list, islice(left[domain], AHEAD))
                # The outage is logged already. A broken iterator cannot continue, so the pages are read again
                # from the beginning. The scheduler drops the requests of pages that were requested before.
                except DataError:
                    left[domain] = self._requests(rules[domain])
                    continue
                if not some:
                    del left[domain]
                given += len(some)
                for request in some:
                    yield request
            # All sites have enough waiting requests, or a backend is unavailable.
            if left and not given:
                await asyncio.sleep(max(0.2, self.context.outage.wait))

    def _requests(self, rule: Rule) -> Iterator[Request]:
        """Yield the requests for the known pages of a site. If links are followed, its seeds come first."""
        if self.asked.follow == "links":
            for url in fronts(rule):
                yield self.request_for(url, rule)
        pages = self.storage.pages.iter(site=rule.domain)
        for some in batched(pages, AHEAD):
            for page in self._old_enough(some):
                yield self.request_for(page.url, rule, page)

    def _old_enough(self, pages: Sequence[PageRecord]) -> list[PageRecord]:
        if not self.asked.min_age:
            return list(pages)
        checked = checks_of(self.storage).get([page.fingerprint for page in pages])
        oldest = self.context.clock() - self.asked.min_age
        return [
            page for page in pages
            if page.fingerprint not in checked or checked[page.fingerprint].last.at <= oldest
        ]  # fmt: skip

    def request_for(
        self,
        url: str,
        rule: Rule,
        page: PageRecord | None = None,
        *,
        found_on: str | None = None,
        depth: int = 0,
    ) -> Request:
        """Return the first request for a page.

        ``page`` is the page's record, or None. ``found_on`` (the URL of a page that links to it) and
        ``depth`` (number of clicks from a seed) are for pages without a record.
        """
        # With follow=links, pages are downloaded for their links. Feeds and sitemaps are only checked.
        reads = self.asked.follow == "links" and (page is None or page.kind not in ("feed", "sitemap"))
        target = Target(
            url=canonicalize(url, rule.drop_query),
            source=rule.domain,
            run=self.crawl.started,
            etag=None if page is None else page.etag,
            last_modified=None if page is None else page.last_modified,
            found_on=found_on,
            depth=depth if page is None else page.depth,
            reads=reads,
        )
        method = "GET" if reads else self.asked.method
        return self._request(url, target, method)

    def _request(self, url: str, target: Target, method: str, tries: int = 0) -> Request:
        # Validators are sent only if the body is not needed. They belong to the first URL, so they are not
        # sent to the target of a redirect.
        conditional = target.conditions() if method == "GET" and not target.reads and not target.hops else {}
        return Request(
            url,
            method=method,
            headers=conditional,
            callback=self.parse,
            errback=self.failed,
            cb_kwargs={"target": target},
            # Each redirect is recorded, so Scrapy must not follow it.
            meta={ASIDE_KEY: tries, "dont_redirect": True, HEADERS_ONLY: not target.reads},
            dont_filter=True,
        )

    def going(self, request: Request) -> Request:
        """Replace HEAD by GET if the host has refused HEAD in the meantime."""
        if request.method != "HEAD" or host_key(request.url) not in self._no_head:
            return request
        return self._request(request.url, request.cb_kwargs["target"], "GET", int(request.meta[ASIDE_KEY]))

    # --- responses
    def headers_received(self, request: Request, **more: Any) -> None:
        """Stop the download (``StopDownload``) if the body is not needed."""
        if request.meta.get(HEADERS_ONLY) and request.method == "GET":
            raise StopDownload(fail=False)

    async def parse(self, response: Response, target: Target) -> AsyncIterator[Any]:
        """Handle one response: request the page in another way, follow a redirect, or store the check."""
        request = response.request
        assert request is not None
        tries = int(request.meta[ASIDE_KEY])
        if request.method == "HEAD" and needs_get(response.status):
            # Method Not Allowed and Not Implemented concern all pages of the host. Other refusals may concern
            # only this page.
            if response.status in (405, 501):
                self._no_head.add(host_key(response.url))
            yield self._request(response.url, target, "GET", tries + 1)
            return
        if response.status >= 400 and (again := self.again(request, cause_of_status(response.status), TRIES)):
            yield again
            return
        step = next_hop(response.status, response.headers.get("Location"), response.url, target)
        if step is not None and step.url and self._is_ours(step.url, target):
            yield self._request(step.url, step.target, str(request.method), tries + 1)
            return
        # A redirect that is not followed is stored too. It is circular, too long, or leads to another site.
        ahead, fault = (target, None) if step is None else (step.target, step.fault)
        check = _check_of(response, ahead, fault, self.context.clock())
        is_page = target.reads and response.status < 300 and _is_html(response)
        if is_page:
            check = replace(check, markup=await asyncio.to_thread(_markup_of, response))
        yield await self._keep(check)
        if is_page:
            links = await asyncio.to_thread(_links_on, response)
            for found in await self.context.calls.run(list, self._links_of(links, response, target)):
                yield found

    async def failed(self, failure: Failure) -> AsyncIterator[Any]:
        """Store why there was no response. If the error may be temporary, try the page again instead."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy sets it
        assert failure.value is not None
        cause = cause_for(request.url, failure.value)
        again = self.again(request, cause, TRIES)
        if again is not None:
            yield again
            return
        target: Target = request.cb_kwargs["target"]
        check = to_check(target, self.context.clock(), str(request.method), fault=cause)
        with suppress(DataError):  # the outage is logged already; the next run requests the page again
            await self.context.calls.run(self._save, check)
        self._count(check)
        yield _item(check)

    def _is_ours(self, url: str, target: Target) -> bool:
        """Return True if the URL belongs to the checked site. Redirects to other sites are not followed."""
        return self.context.rule_for(url).domain == target.source

    async def _keep(self, check: PageCheck) -> dict[str, Any]:
        await self.context.outage.patiently(self._save, check)
        self._count(check)
        return _item(check)

    def _save(self, check: PageCheck) -> None:
        """Store a check, unless the page was removed in the meantime (``scrapy remove``)."""
        if not self.crawl.removals.covers(fingerprint(check.url), host_key(check.url)):
            checks_of(self.storage).save([check])

    def _count(self, check: PageCheck) -> None:
        of_site = self.counted.setdefault(check.source, {})
        for name in ("checked", check.verdict.replace(" ", "_"), *(["faulty"] if check.markup else [])):
            of_site[name] = of_site.get(name, 0) + 1
            self.context.count(f"monitor/{name}")

    def _links_of(self, links: list[Link], response: Response, target: Target) -> Iterator[Request]:
        """Store the links of a page. Yield requests for linked pages of the site that have no record."""
        rule = self.context.rules.get(target.source)
        found: dict[bytes, str] = {}
        for link, canonical in () if rule is None else self.on_site(links, rule):
            found.setdefault(fingerprint(canonical), link.url)
        try:
            known = self.storage.pages.get(list(found))
            linked = [_linked(page, response.url, target.depth + 1) for page in known.values()]
            self.storage.pages.discover(linked)
        except DataError:  # the outage is logged already; the next run reads the links again
            return
        if rule is None or target.depth + 1 > rule.max_depth:
            return
        for key, url in found.items():
            if key not in known:
                yield self.request_for(url, rule, found_on=response.url, depth=target.depth + 1)

    # --- the end
    def finish(self, reason: str) -> None:
        """Make, store and log the report on each site. Write the report file if the arguments name one."""
        reports = []
        for domain, counted in self.counted.items():
            run = {"began": self.crawl.started, "ended": self.context.clock(), "reason": reason, **counted}
            try:
                report = site_report(self.storage, domain)
                keep_report(self.storage.notes, report, run)
            except DataError as error:
                # The other sites still get their reports.
                logger.error("monitor cannot make the report site=%s fault=%s", domain, error)
                continue
            reports.append(report)
            counts = " ".join(f"{name}={amount}" for name, amount in sorted(counted.items()))
            changes = sum(report["changes_count"].values())
            logger.info(
                "monitor ended site=%s reason=%s %s changes=%d; see: %s monitor show %s",
                *(domain, reason, counts, changes, PROGRAM, domain),
            )
        if self.asked.report is not None:
            try:
                write_reports(self.asked.report, reports, self.context.clock())
            except OSError as error:
                logger.error("monitor cannot write report=%s fault=%s", self.asked.report, error.strerror)


def _check_of(response: Response, target: Target, fault: str | None, now: float) -> PageCheck:
    headers = {
        name: value.decode("latin-1")
        for name in ("Content-Length", "Content-Type", "Server", "ETag", "Last-Modified")
        if (value := response.headers.get(name)) is not None
    }
    return to_check(
        target,
        now,
        "GET" if response.request is None else str(response.request.method),
        status=response.status,
        fault=fault,
        headers=headers,
        received=len(response.body),
        seconds=response.meta.get("download_latency"),
    )


def _media_of(response: Response) -> str:
    return content_type_of(response).partition(";")[0].strip().lower()


def _is_html(response: Response) -> bool:
    media = _media_of(response)
    return not media or "html" in media


def _text_of(response: Response) -> str:
    return decode(response.body, http_content_type_encoding(content_type_of(response)))


def _tree_of(response: Response) -> HtmlElement | None:
    """Return the tree of a page; None if it is empty, or an image with an HTML content type."""
    with suppress(NotAnArticle):
        return tree_of(response)
    return None


def _markup_of(response: Response) -> str:
    return written_faults(faults_in(_text_of(response), response.url))


def _links_on(response: Response) -> list[Link]:
    """Return the links of a page. The function may run in any thread."""
    tree = _tree_of(response)
    return [] if tree is None else find_links(tree, response.url)


def _item(check: PageCheck) -> dict[str, Any]:
    """Return a check as an item that Scrapy can export, for example with ``-O checks.jsonl``."""
    plain = asdict(replace(check, hops=()))
    plain["hops"] = [{"status": status, "to": to} for status, to in check.hops]
    return {**plain, "verdict": check.verdict, "outcome": check.outcome}


def _linked(page: PageRecord, referrer: str, depth: int) -> PageRecord:
    """Return a new record of a known page. When it is stored, ``referrer`` is added to the stored record.

    The new record has no history. So if a person removes the page in the meantime, its old data do not come
    back.
    """
    return PageRecord(
        url=page.url,
        fingerprint=page.fingerprint,
        host=page.host,
        source=page.source,
        kind=page.kind,
        referrers=[referrer],
        referrer_count=1,
        depth=depth,
        first_seen=page.first_seen,
    )


MAX_NAME = 100
"""Maximum number of characters of a search's name that are stored."""
AT_ONCE = 500
"""Number of known pages that are read together."""

SEARCH_HELP = {
    "sites": "domains of rule files, comma separated (default: all rules, if there is no url)",
    "url": "one address to begin with; the search stays on its site",
    "urls": "several addresses, comma or space separated",
    "text": "texts to find, separated by |: text=bridge|town hall",
    "texts_file": "a file with one text per line",
    "regex": "one regular expression to find: regex=\\d+ (dead|injured)",
    "regexes_file": "a file with one regular expression per line",
    "search": "the name of the results; default: the texts and expressions",
    "follow": "links (known pages, and the pages that they link to; the default) or known (known pages only)",
    "max_pages": f"maximum number of requested pages (default: {MAX_PAGES})",
}
"""The meaning of each argument. Error messages show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searching:
    """The arguments of one search."""

    name: str
    finder: Finder
    follow: str = "links"
    """``links`` or ``known``."""
    max_pages: int = MAX_PAGES
    scope: Arguments
    """The arguments that all spiders have. They name the sites."""


def parse_searching(given: Mapping[str, Any]) -> Searching:
    """Return the checked arguments. Raises :class:`ArgumentError`, whose message says what is allowed."""
    values = given_values(given, SEARCH_HELP)
    texts = [text.strip() for text in values.get("text", "").split("|")] if values.get("text") else []
    texts += lines_of("texts_file", values.get("texts_file"))
    regexes = [values["regex"]] if values.get("regex") else []
    regexes += lines_of("regexes_file", values.get("regexes_file"))
    wanted = [*(Wanted(text) for text in texts), *(Wanted(text, regex=True) for text in regexes)]
    if not wanted:
        raise ArgumentError(f"say what to find: text={SEARCH_HELP['text'].partition('text=')[2]}, or regex=…")
    try:
        finder = Finder(wanted)
    except ValueError as error:
        raise ArgumentError(f"text or regex: {error}") from error
    urls = [*addresses(values.get("url")), *addresses(values.get("urls"))]
    name = values.get("search") or " | ".join(one.text for one in wanted)
    return Searching(
        name=name[:MAX_NAME],
        finder=finder,
        follow=_one_of(values, SEARCH_HELP, "follow", "links", "known"),
        max_pages=count("max_pages", values.get("max_pages"), SEARCH_HELP) or MAX_PAGES,
        scope=Arguments(
            sites=_sites(values),
            urls=tuple(address("url", url) for url in urls),
        ),
    )


DEPTH = "depth_from_start"
"""Request meta key: number of clicks from a seed or known page to this page."""


class SearchSpider(_SiteSpider):
    """Searches pages. Its arguments are in :class:`Searching`."""

    name = "search"
    parse_arguments = staticmethod(parse_searching)
    asked: Searching

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name, **arguments)
        self.counted = {"pages": 0, "found_on": 0, "hits": 0, "errors": 0}

    async def start(self) -> AsyncIterator[Any]:
        """Yield requests for the seeds, then for all known pages of the sites."""
        context = self.context
        domains = {rule.domain: rule for rule in self.crawl.scope.selected_rules()}
        for rule in domains.values():
            if self.asked.follow == "links":
                for url in fronts(rule):
                    yield self._request(url, rule)
        for url in self.arguments.urls:
            rule = context.rule_for(url)
            domains.setdefault(rule.domain, rule)
            yield self._request(url, rule)
        for rule in domains.values():
            known = await context.calls.run(context.storage.pages.iter, site=rule.domain)
            while some := await context.calls.run(list, islice(known, AT_ONCE)):
                for page in some:
                    if page.kind not in ("feed", "sitemap") and page.state != "gone":
                        yield self._request(page.url, rule)

    def _request(self, url: str, rule: Rule, depth: int = 0) -> Request:
        return Request(
            url,
            callback=self.parse,
            errback=self.failed,
            cb_kwargs={"rule": rule},
            meta={DEPTH: depth},
            dont_filter=True,  # the scheduler itself drops URLs that were requested before
        )

    async def parse(self, response: Response, rule: Rule, **kwargs: Any) -> AsyncIterator[Any]:
        """Read one page: store where the texts were found, and yield requests for its links."""
        if response.status >= 300:
            for again in self._again(response.request, cause_of_status(response.status)):
                yield again
            return
        tree, text = await asyncio.to_thread(_read, response)
        if text is None:
            self.context.count("search/no_text")
            return
        # The search runs in a thread, because a regular expression may take up to its time limit on one page.
        found, whole = await asyncio.to_thread(self.asked.finder.find, text)
        if not whole:
            self.context.count("search/cut_short")
            logger.warning("search cut short url=%s; the expressions took too long", response.url)
        await self._keep(response, rule, found)
        if tree is not None and self.asked.follow == "links":
            links = await asyncio.to_thread(find_links, tree, response.url)
            for request in self._requests(links, response, rule):
                yield request

    async def _keep(self, response: Response, rule: Rule, found: Mapping[Wanted, Places]) -> None:
        context, url = self.context, canonicalize(response.url, rule.drop_query)
        if await context.calls.run(self.crawl.removals.covers, fingerprint(url), host_key(url)):
            return  # the page was removed while it was read
        results = [
            SearchResult(
                search=self.asked.name,
                text=wanted.text,
                regex=wanted.regex,
                url=url,
                source=rule.domain,
                looked_at=context.clock(),
                positions=places.positions,
                hits=places.hits,
            )
            for wanted, places in found.items()
        ]
        await context.outage.patiently(searches_of(context.storage).save, results)
        hits = sum(places.hits for places in found.values())
        for name, amount in (("pages", 1), ("found_on", bool(hits)), ("hits", hits)):
            self.counted[name] += amount
            context.count(f"search/{name}", amount)

    def _requests(self, links: list[Link], response: Response, rule: Rule) -> Iterator[Request]:
        depth, now = response.meta[DEPTH] + 1, self.context.now()
        if depth > rule.max_depth:
            return
        for link, canonical in self.on_site(links, rule):
            if trap(canonical, now) is None:
                yield self._request(link.url, rule, depth)
            else:
                self.context.count("search/traps")

    def failed(self, failure: Failure) -> Iterator[Request]:
        """Try the page again if the error may be temporary, else count the error."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy sets it
        assert failure.value is not None
        yield from self._again(request, cause_of(failure.value))

    def _again(self, request: Request | None, cause: str) -> Iterator[Request]:
        tries = 1 if request is None else int(request.meta[ASIDE_KEY]) + 1
        if request is not None and tries == 1 and cause in NO_TLS and request.url.startswith("https:"):
            # Many sites respond only to http or only to https.
            yield request.replace(url="http:" + request.url[6:], meta={**request.meta, ASIDE_KEY: tries})
            return
        if request is not None and (again := self.again(request, cause, TRIES - 1)):
            yield again
            return
        self.counted["errors"] += 1
        self.context.count(f"errors/{cause}")

    def closed(self, reason: str) -> None:
        """Log the number of results, and the command that shows them."""
        counts = " ".join(f"{name}={amount}" for name, amount in self.counted.items())
        logger.info(
            "search ended reason=%s %s; see: %s searches show '%s'",
            *(reason, counts, PROGRAM, self.asked.name),
        )


def _read(response: Response) -> tuple[HtmlElement | None, str | None]:
    """Return the page's tree and its visible text.

    The tree is None if the page is not HTML. The text is None if the page has no text.
    """
    if _media_of(response) == "text/plain":
        return None, plain_lines(_text_of(response))
    tree = _tree_of(response) if _is_html(response) else None
    return tree, None if tree is None else visible_text(tree)
