"""``scrapy backfill``: collects the older articles of a site.

The site itself comes first: a news crawl with ``since`` reads its sitemaps, its archives by date and its
lists. Then the indexes of web archives name further pages. An archived page is requested if its article is
not stored, and if the rule of the site or the family of its address admits it, as in a crawl.

The position in an index is stored, so that the same command continues there. An archived article never
replaces a stored one. Its page is not recorded as fetched: if the site still has the page, a crawl fetches
it, and its text becomes the current version.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from scrapy.settings import SETTINGS_PRIORITIES, Settings

from newsbot.apps.archive.cdx import (
    Capture,
    CommonCrawl,
    Index,
    PacedClient,
    Part,
    Place,
    RemoteFault,
    Wanted,
    Wayback,
)
from newsbot.apps.archive.importing import NOTE_EVERY, Importer
from newsbot.apps.archive.reader import Page
from newsbot.backends import open_rules, open_storage
from newsbot.cli.command import Action, Argument, Call, moment, one_of, positive
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import Column, counted
from newsbot.clock import iso
from newsbot.config.settings import number_of
from newsbot.crawl.scope import arguments_for
from newsbot.errors import ArgumentError, NotAnArticle
from newsbot.items import ARCHIVE, Bounded, Kind, Link, Reason, Where
from newsbot.pages.extraction.fields.date_candidates import from_url
from newsbot.pages.rules.rule import Rule, ascii_domain
from newsbot.ranking.families import Result, SiteFamilies, State, family_of
from newsbot.ranking.judging import judge
from newsbot.urls import canonicalize, fingerprint, host_key

KIND = "backfill:"
"""Beginning of the kind of the notes with the positions in the indexes. The domain of the site follows."""
PLACES = ("site", "wayback", "commoncrawl")
TRIES = 3
"""Maximum number of captures of a page that are requested until one of them is an article."""
MAX_TRIED = 200_000
"""Maximum number of pages that are remembered because none of their captures is an article."""
HEADINGS = (
    "captures",
    "requested",
    "new",
    "known",
    "no article",
    "other dates",
    "refused",
    "missing",
)
_DAY = timedelta(days=1)
_STDERR = 2


@dataclass(slots=True)
class Progress:
    """The progress in one archive. The keys of ``counts`` are the :data:`HEADINGS`."""

    name: str
    key: str
    """The key of the note."""
    place: Place = field(default_factory=dict)
    line: int = 0
    """Number of captures of the part that are done."""
    label: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    done: bool = False
    fault: str = ""
    before: bool = False
    """True if an earlier command read the whole index."""
    is_stopped: bool = False
    """True if the budget was used up."""


class Backfill(Importer):
    """Imports captures of one site."""

    def __init__(self, settings: Settings, wanted: Wanted, max_pages: int | None) -> None:
        super().__init__(settings)
        self._wanted, self._max_pages = wanted, max_pages
        self._kind = KIND + wanted.domain
        # What archived pages show must not open or close families of the site as it is now.
        self._site = SiteFamilies.read(self._crawl.families.of(wanted.domain).plain())
        self._tried = Bounded[bytes, None](MAX_TRIED)

    def collect(self, name: str, index: Index, *, again: bool, tell: Callable[[Progress], None]) -> Progress:
        """Read an index from the stored position on, and import its captures; return the progress."""
        progress = self._begin_index(name, again=again)
        if not progress.done:
            asyncio.run(self._read_index(progress, index, tell))
        return progress

    def _begin_index(self, name: str, *, again: bool) -> Progress:
        wanted = self._wanted
        key = " ".join([name, str(iso(wanted.since)), *([str(iso(wanted.until))] if wanted.until else [])])
        note = {} if again else self._context.notes.all(self._kind).get(key, {})
        done = bool(note.get("done"))
        return Progress(
            name, key, dict(note.get("place", {})), int(note.get("line", 0)), done=done, before=done,
            counts=Counter(note.get("counts", {})),
        )  # fmt: skip

    def _save(self, progress: Progress) -> None:
        note = {
            "place": progress.place,
            "line": progress.line,
            "counts": dict(progress.counts),
            "done": progress.done,
        }
        self._context.notes.save(self._kind, progress.key, note)

    async def _read_index(self, progress: Progress, index: Index, tell: Callable[[Progress], None]) -> None:
        before, skip, counts = progress.counts["requested"], progress.line, progress.counts
        last_note = time.monotonic()
        try:
            for part in index.parts(self._wanted, progress.place):
                progress.place, progress.line, progress.label = part.place, skip, part.label
                failed: tuple[int, int] | None = None
                for captures in self._chosen(part, skip):
                    if self._max_pages is not None and counts["requested"] - before >= self._max_pages:
                        progress.is_stopped = True
                        return
                    try:
                        await self._take(index, [one for _, one in captures], counts)
                    except RemoteFault as fault:
                        if failed is not None:
                            progress.line, counts["captures"] = failed
                            counts["missing"] -= 1
                        if failed is not None or not fault.status:
                            raise
                        # The archive may be unable to return this page for ever. If it does not return the
                        # next one either, it is away, and the next run begins with the first of them.
                        failed = progress.line, counts["captures"]
                        counts["missing"] += 1
                    else:
                        failed = None
                    # The captures of a page may be apart, so the position is after the first of them.
                    counts["captures"] += captures[0][0] + 1 - progress.line
                    progress.line = captures[0][0] + 1
                    if time.monotonic() - last_note >= NOTE_EVERY:
                        self._save(progress)
                        tell(progress)
                        last_note = time.monotonic()
                counts["captures"] += len(part.captures) - progress.line
                progress.line, skip = len(part.captures), 0
            progress.done = True
        except RemoteFault as fault:
            progress.fault = str(fault)
        finally:
            self._save(progress)

    def _chosen(self, part: Part, skip: int) -> Iterator[list[tuple[int, Capture]]]:
        """Yield the captures to request, those of one page together, with their numbers in the part."""
        pages: dict[bytes, list[tuple[int, Capture]]] = {}
        for number, capture in enumerate(part.captures[skip:], start=skip):
            if (key := self._key(capture)) is not None:
                pages.setdefault(key, []).append((number, capture))
        known = self._context.storage.articles.known(list(pages)) if pages else set()
        for key, captures in pages.items():
            if key not in known and key not in self._tried:
                self._tried.add(key)
                yield captures

    def _key(self, capture: Capture) -> bytes | None:
        """Return the fingerprint of a page that may be an article of the time, else None."""
        try:
            rule = self._context.rule_for(capture.url)
            url = canonicalize(capture.url, rule.drop_query)
        except ValueError:
            return None
        key, zone = fingerprint(url), self._wanted.since.tzinfo or UTC
        if rule.domain != self._wanted.domain or self._crawl.removals.covers(key, host_key(capture.url)):
            return None
        dates = (date.value.at(zone) for date in from_url(url))
        is_other = any(self._is_other_date(moment, _DAY) for moment in dates)
        return None if is_other or not self._is_wanted(url, rule) else key

    def _is_wanted(self, url: str, rule: Rule) -> bool:
        """Return True if a crawl would fetch a link to this canonical URL, as far as is known now."""
        judgement = judge(
            Link(url=url, where=Where.BODY),
            rule,
            depth=0,
            now=self._context.now(),
            is_open=lambda one: self._site.state(family_of(one)) is State.OPEN,
        )
        if not judgement.accepted or judgement.kind is not Kind.ARTICLE:
            return False
        of_family = judgement.token == Reason.LIKELY_ARTICLE
        return judgement.token == Reason.RULE or (
            of_family and self._site.state(family_of(url)) is not State.CLOSED
        )

    def _is_other_date(self, moment: datetime, more: timedelta = timedelta(0)) -> bool:
        since, until = self._wanted.since, self._wanted.until
        return moment < since - more or (until is not None and moment >= until + more)

    async def _take(self, index: Index, captures: Sequence[Capture], counts: Counter[str]) -> None:
        """Request the captures of a page, the oldest first, until one of them is an article."""
        url = captures[0].url
        rule = self._context.rule_for(url)
        canonical = canonicalize(url, rule.drop_query)
        if not self._is_wanted(canonical, rule):  # the family was closed by pages before this one
            return
        outcome, digests = "missing", set[str]()
        for capture in captures:
            if len(digests) >= TRIES or (capture.digest and capture.digest in digests):
                continue
            digests.add(capture.digest or capture.moment)
            counts["requested"] += 1
            page = index.fetch(capture, self._max_body)
            if page is None or page.status != 200 or page.body is None:
                continue
            outcome = await self._take_page(page, rule, index.address(capture))
            if outcome != "no article":
                break
        counts[outcome] += 1
        if outcome not in ("missing", "refused"):
            refusal = Reason.NO_ARTICLE.value if outcome == "no article" else ""
            self._site.add(Result(family=family_of(canonical), named=False, refusal=refusal))

    async def _take_page(self, page: Page, rule: Rule, address: str) -> str:
        """Store the article of an archived page. Return the counter of the outcome."""
        try:
            article = self._read(page, rule, self._site)
        except NotAnArticle:
            return "no article"
        if article.published_at is not None and self._is_other_date(article.published_at):
            return "other dates"
        if self._context.storage.articles.get(article.canonical_url) is not None:
            return "known"
        article.extraction[ARCHIVE] = address
        outcome = await self._store(article)
        if outcome == "new":
            self._record_page(page, rule, page.at or self._context.now(), address, is_fetched=False)
        return "known" if outcome in ("unchanged", "duplicates") else outcome


def backfill(call: Call) -> int:
    """Collect the older articles of a site. The exit code is 1 if a place could not be read to its end."""
    options, settings = call.options, call.settings
    try:
        domain = ascii_domain(options.site.strip().lower())
    except ValueError as error:
        raise ArgumentError(f"SITE: {error}") from error
    if options.until and options.since >= options.until:
        raise ArgumentError("--since is not before --until: no article would match")
    first, last = datetime(1990, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)  # days can be added
    wanted = Wanted(
        domain=open_rules(settings).for_url(f"https://{domain}/").domain,
        since=min(max(options.since, first), last),
        until=options.until and min(max(options.until, first), last),
    )
    places = [name for name in PLACES if name in (options.places or PLACES)]
    code = _crawl_site(call, wanted) if "site" in places else 0
    client = PacedClient(str(settings["USER_AGENT"]), number_of(settings, "NEWSBOT_ARCHIVE_DELAY"), call.note)
    indexes: dict[str, Index] = {
        "wayback": Wayback(settings["NEWSBOT_WAYBACK"], client),
        "commoncrawl": CommonCrawl(settings["NEWSBOT_COMMON_CRAWL"], settings["NEWSBOT_CC_NEWS"], client),
    }
    results = []
    with closing(Backfill(settings, wanted, options.max_pages)) as archives:
        for name in places:
            if name in indexes:
                results.append(archives.collect(name, indexes[name], again=options.again, tell=_teller(call)))
                _tell_end(call, results[-1])
    headings = [name.replace(" ", "_") for name in HEADINGS]
    rows = [(one.name, *(one.counts[name] for name in HEADINGS)) for one in results]
    call.listing(
        [
            {
                **dict(zip(("place", *headings), row, strict=True)),
                "done": one.done,
                "fault": one.fault or None,
            }
            for row, one in zip(rows, results, strict=True)
        ],
        (Column("place"), *(Column(name, "right") for name in HEADINGS)),
        rows,
    )
    return 1 if code or any(one.fault for one in results) else 0


def _crawl_site(call: Call, wanted: Wanted) -> int:
    """Crawl the site itself in another process; return its exit code."""
    with closing(open_storage(call.settings)) as storage:
        note = storage.notes.all(KIND + wanted.domain).get("site", {})
    since = min(filter(None, (note.get("since"), iso(wanted.since))))
    is_read = note.get("since") == since and not call.options.again
    named = arguments_for(open_rules(call.settings), [wanted.domain])
    arguments = {
        **{name: ",".join(values) for name, values in named.items()},
        "since": iso(wanted.since),
        **({"until": iso(wanted.until)} if wanted.until else {}),
        **({} if is_read else {"now": "yes"}),  # sources that were read before may name older articles
    }
    given = {
        name: call.settings[name]
        for name in call.settings
        if (call.settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["cmdline"]
    }
    if call.options.max_pages:
        given["CLOSESPIDER_PAGECOUNT"] = call.options.max_pages
    command = [sys.executable, "-m", PROGRAM, "crawl", "news"]
    command += [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
    command += [word for name, value in given.items() for word in ("-s", f"{name}={value}")]
    code = subprocess.run(command, check=False, stdout=_STDERR).returncode  # noqa: S603  # our own command
    if not code:
        with closing(open_storage(call.settings)) as storage:
            storage.notes.save(KIND + wanted.domain, "site", {"since": since})
    return code


def _teller(call: Call) -> Callable[[Progress], None]:
    def tell(progress: Progress) -> None:
        counts = progress.counts
        captures, requested = counted(counts["captures"], "capture"), counted(counts["requested"], "request")
        new = counted(counts["new"], "new article")
        call.note(f"{progress.name}: {progress.label}: {captures}, {requested}, {new}")

    return tell


def _tell_end(call: Call, progress: Progress) -> None:
    if progress.fault:
        call.note(f"{progress.name}: {progress.fault}; run the same command again to continue")
    elif progress.is_stopped:
        call.note(f"{progress.name}: --max-pages is used up; run the same command again to continue")
    elif progress.before:
        call.note(f"{progress.name}: was read before, with these counts; --again reads it again")


ACTIONS = (
    Action(
        "",
        "Collect the older articles of a site: from its sitemaps and archives, then from web archives",
        backfill,
        Argument("site", metavar="SITE", help="the domain of the site"),
        Argument(
            "--since", metavar="DATE", type=moment, required=True, help="published since DATE (2024-01)"
        ),
        Argument("--until", metavar="DATE", type=moment, help="published before DATE"),
        Argument(
            "--from",
            dest="places",
            action="append",
            type=one_of("site", "wayback", "commoncrawl"),
            metavar="PLACE",
            help="site, wayback or commoncrawl; may be repeated (default: all, in this order)",
        ),
        Argument(
            "--max-pages",
            metavar="N",
            type=positive,
            help="request at most N pages from each place in this run (default: no limit)",
        ),
        Argument("--again", action="store_true", help="read the indexes from their beginning"),
        writes=True,
    ),
)
