"""``scrapy why URL``: collects all data about one URL and formats them as text or JSON.

The data come from rules, frontier and storage. No requests are sent.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any

from newsbot.apps.numbers import iso_of
from newsbot.apps.operations.remove import removal_of
from newsbot.apps.operations.verdict import in_words
from newsbot.backends import data_file, not_crawled, open_rules, open_storage, queued, stored
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import counted, when
from newsbot.clock import iso, utc
from newsbot.config.settings import SettingsLike
from newsbot.errors import ArgumentError, DataUnavailable
from newsbot.frontier.base import ASIDE, Entry, Frontier, HostCopy, Known
from newsbot.items import (
    Article,
    ArticleFilter,
    Event,
    EventKind,
    Link,
    PageRecord,
    Reason,
    Where,
    read_reason,
)
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import Match, Rule, classify
from newsbot.ranking.families import SiteFamilies, lacking, read_site, reason_for
from newsbot.ranking.judging import Judgement, judge
from newsbot.ranking.url_learning import kept, learns, session_keys
from newsbot.storage.base import Storage, WaitingLink
from newsbot.urls import canonicalize, fingerprint, host_key, meant

MAX_MEMBERS = 20
"""Maximum number of other articles of the same story that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What is known about one URL.

    The URL, its rule and its judgement are always set. Other fields can be empty.
    """

    url: str
    canonical_url: str
    fingerprint: bytes
    host: str
    rule: Rule
    has_rule: bool
    """False if no rule file covers the site. In this case the defaults apply."""
    match: Match
    judgement: Judgement
    """What the crawl would do now with a link to the URL in the body of a page."""
    is_listed: bool = False
    """True if a feed or sitemap of the site is known.

    The crawl then does not follow links on article pages.
    """
    page: PageRecord | None = None
    known: Known | None = None
    entry: Entry | None = None
    article: Article | None = None
    versions: int = 0
    story: Sequence[Article] = ()
    """Other articles of the same story."""
    removed: tuple[str, dict[str, Any]] | None = None
    """If the URL is blocked: the URL or domain that was removed, and the note of the removal."""
    pace: HostCopy | None = None
    """Delay and pauses of the URL's host."""
    families: SiteFamilies
    """The families of the site's addresses."""
    waiting: WaitingLink | None = None
    """The link, if it waits until its family is open."""

    @property
    def found(self) -> Mapping[str, Any]:
        """Where the URL was found: the data of the waiting link, of its page, or of the queue's entry."""
        if self.waiting is not None:
            body: dict[str, Any] = json.loads(self.waiting.body)["data"]
            return body
        if self.page is not None:
            events = (one for one in self.page.history if one.get("event") == EventKind.DISCOVERED)
            if (first := next(events, None)) is not None:
                return first
        return self.entry.data if self.entry is not None else {}

    @property
    def same_text_as(self) -> str | None:
        """The canonical URL under which this text is stored, if it is another URL."""
        if self.article is None or self.article.canonical_url == self.canonical_url:
            return None
        return self.article.canonical_url


def explain(url: str, rules: RuleSet, storage: Storage, frontier: Frontier, *, now: float) -> Explanation:
    """Return what is known about ``url``.

    ``now`` is in POSIX seconds. Raises ``ValueError`` if ``url`` is not an absolute http(s) URL, and
    subclasses of :class:`newsbot.errors.DataError`.
    """
    # The crawl drops learned session parameters from URLs. They are dropped here too, because otherwise the
    # fingerprint would differ.
    rules = rules.dropping(session_keys(storage.notes))
    rule = rules.for_url(url)
    canonical = canonicalize(url, rule.drop_query)
    key, host = fingerprint(canonical), host_key(url)
    page = storage.pages.get([key]).get(key)
    if page is not None:  # an item of a feed may be on another host, but belongs to the feed's site
        rule = rules.get(page.source) or rule
    # An older version of the rule may have dropped other parameters. So the article is looked up with and
    # without the parameters that the rule drops now.
    article = storage.articles.get(canonical) or storage.articles.get(canonicalize(url))
    learned = kept(storage.notes, rule.domain)[1] if learns(rule) else None
    link = Link(url=url, where=Where.BODY)
    return Explanation(
        url=url,
        canonical_url=canonical,
        fingerprint=key,
        host=host,
        rule=rule,
        has_rule=rules.get(rule.domain) is not None,
        match=classify(rule, canonical),
        judgement=judge(link, rule, depth=page.depth if page else 1, now=utc(now), learned=learned),
        is_listed=bool(
            rule.feeds
            or rule.sitemaps
            or any(one.kind.is_listing for one in storage.sources.all(rule.domain))
        ),
        page=page,
        known=frontier.known([key], [host]).get(key),
        entry=frontier.entry(key, host),
        families=read_site(storage.notes, rule.domain),
        waiting=storage.waiting.get([key]).get(key),
        article=article,
        versions=len(storage.articles.versions(article.canonical_url)) if article else 0,
        story=others_of_story(storage, article, MAX_MEMBERS) if article else (),
        removed=removal_of(storage.notes, key, host),
        pace=frontier.host(host),
    )


def others_of_story(storage: Storage, article: Article, limit: int) -> Sequence[Article]:
    """Return up to ``limit`` other articles of an article's story."""
    if article.story is None:
        return ()
    members = storage.articles.iter(ArticleFilter(story=article.story))
    others = (member for member in members if member.canonical_url != article.canonical_url)
    return tuple(islice(others, limit))


STATES = {
    "pending": "waits to be fetched",
    "leased": "is being fetched now",
    "done": "was fetched",
    "aside": "given up; it is not fetched again unless it is added by hand",
}
REASONS: Mapping[str, str] = {
    Reason.ALIAS: "another address of a fetched page",
    Reason.CLAIMED: "named as canonical by a fetched page",
    Reason.DOUBTED: "named as canonical by another page",
    Reason.DUE_AGAIN: "due again",
    "unlikely_article": "its address does not look like that of an article",
    Reason.LIKELY_ARTICLE: "other pages of its form are articles",
    Reason.LIST: "it looks like a list of articles",
    Reason.OFFSITE: "it is on another site",
    Reason.NOT_IN_RULE: "no pattern of the rule admits it",
    Reason.TOO_OLD: "it is too old",
}
"""Texts for users, by reason."""
LEFT: Mapping[str, str] = {
    Reason.WAITS: "links of this form wait: too little is known of their pages, or they were not articles",
}
"""Texts for the reasons why a URL in the queue was not fetched."""


Row = tuple[str, str]
"""A fact for people: its name and its value. A fact of the same kind as the one before has no name."""


def lines(facts: Explanation, now: float) -> Iterator[str]:
    """Yield the explanation as lines for people."""
    for name, value in rows(facts, now):
        yield f"{name:<14}{value}"
    if facts.page is not None and facts.page.history:
        yield ""
        yield from map(_event_line, facts.page.history)
    yield ""
    yield ": ".join(conclusion(facts))


def rows(facts: Explanation, now: float) -> Iterator[Row]:
    """Yield the present facts, without the history of the page and without the conclusion."""
    yield _line("url", facts.url)
    if facts.canonical_url != facts.url:
        yield _line("canonical", facts.canonical_url)
    yield _line(
        "site", f"{facts.rule.domain} (rule: {facts.rule.file if facts.has_rule else 'none, defaults apply'})"
    )
    yield from _removed_lines(facts)
    if found_in := _found_in(facts):
        yield _line("found in", found_in)
    yield from _judgement_lines(facts)
    yield from _frontier_lines(facts, now)
    yield from _host_lines(facts, now)
    yield from _page_lines(facts, now)
    yield from _article_lines(facts)


def conclusion(facts: Explanation) -> tuple[str, str]:
    """Return one sentence that says why there is an article or none, and one command."""
    if facts.removed is not None:
        return "A person removed it. To unblock it", f"{PROGRAM} remove --allow '{facts.removed[0]}'"
    if facts.article is not None:
        return "It is stored. To read it", f"{PROGRAM} articles show '{facts.article.canonical_url}'"
    if facts.match.denied:
        return "The rule denies it. To see the rule", f"{PROGRAM} rules show '{facts.url}'"
    if facts.waiting is not None:
        return _waits(facts.waiting, facts.families)
    return _of_page(facts)


def _waits(link: WaitingLink, site: SiteFamilies) -> tuple[str, str]:
    family = site.families.get(link.family)
    number = max(1, 0 if family is None else family.waiting)
    reason = reason_for(site, link.family)
    return (
        f"It waits with {counted(number, 'link')} of {link.family}: {reason}. To fetch them",
        f"{PROGRAM} add --family {link.source} {shlex.quote(link.family)}",
    )


def _of_page(facts: Explanation) -> tuple[str, str]:
    page, add = facts.page, f"{PROGRAM} add '{facts.url}'"
    if page is not None and (last := _last_reason(page)) is not None:
        return _failure(last), add
    if facts.known is not None and facts.known.state in ("pending", "leased"):
        return "It is queued. To fetch it now", f"{PROGRAM} crawl news -a sites={facts.rule.domain}"
    if page is None:
        return "Nothing that newsbot has read names it. To fetch it", add
    not_fetched = page.last_fetched is None
    return "It was not fetched. To fetch it" if not_fetched else "It is no article. To fetch it", add


def _failure(event: Event) -> str:
    if event.get("event") == EventKind.NOT_AN_ARTICLE:
        missing = f" It lacks {lacking(event['missing'])}." if event.get("missing") else ""
        return f"Its page is not an article ({event.get('reason')}).{missing} To store it anyway"
    if event.get("event") == EventKind.DROPPED:
        return f"Its article was not stored ({event.get('reason')}). To fetch it again"
    return f"It could not be read ({event.get('cause') or event.get('error')}). To try again"


def _judgement_lines(facts: Explanation) -> Iterator[Row]:
    match, judgement = facts.match, facts.judgement
    if match.denied:
        yield _line("rule says", f"deny, by {match.pattern}")
    elif match.kind is not None:
        yield _line("rule says", f"{match.kind}, by {match.pattern or 'its own list of sources'}")
    else:
        yield _line("rule says", "nothing about this URL")
    verdict = f"fetched as {judgement.kind}" if judgement.accepted else "not fetched"
    yield _line("a link to it", f"is {verdict}: {reason_text(judgement.reason)}")
    if judgement.accepted and facts.rule.follow is not None:
        yield _line("", f"only if it is in: {', '.join(facts.rule.follow) or 'no source'} (rule key: follow)")
    elif judgement.accepted and facts.is_listed:
        yield _line("", "links on article pages are not followed: the site has a feed or sitemap")
    if judgement.reason == Reason.LIST:
        yield _line("", "lists with URLs of one form are fetched only while they lead to new articles")
    # A page that was left in the queue may have been fetched later. So the event is shown only if it is the
    # newest event of the page.
    left = facts.page.last(EventKind.LEFT) if facts.page is not None else None
    if left is not None and facts.page is not None and left is facts.page.history[-1]:
        yield _line("not fetched", LEFT.get(left.get("reason", ""), left.get("reason", "")))
        yield _line(
            "remedy",
            f"run {PROGRAM} add URL, or admit all such URLs with a pattern under article: in the rule",
        )


def _removed_lines(facts: Explanation) -> Iterator[Row]:
    if facts.removed is not None:
        what, note = facts.removed
        reason = f", {note['reason']}" if note.get("reason") else ""
        yield _line("kept out", f"{what} was removed on {iso(utc(note['at']))}{reason}")
        yield _line("remedy", f"to unblock it, run: {PROGRAM} remove --allow '{what}'")


def _host_lines(facts: Explanation, now: float) -> Iterator[Row]:
    pace = facts.pace
    if pace is None:
        return
    note = (
        ""
        if pace.delay <= facts.rule.delay
        else f" (set by its robots.txt or another crawl; the rule says {facts.rule.delay:g} s)"
    )
    yield _line("host", f"{facts.host}: {pace.delay:g} s between requests, {pace.concurrency} at once{note}")
    # ``next_turn`` is the time of the next allowed request to the host. After a normal request it is at most
    # one delay away. If it is later, the host pauses (Retry-After, 429, 503).
    if pace.next_turn > now + pace.delay:
        yield _line("host pauses", f"until {_moment(pace.next_turn, now)}")


_ROBOTS = {
    Reason.ROBOTS.value: "forbade it",
    Reason.ROBOTS_UNREACHABLE.value: "could not be fetched (host unreachable)",
    Reason.ROBOTS_FAILING.value: "could not be fetched (the server reports an error)",
    Reason.ROBOTS_UNREADABLE.value: "could not be read (its content is damaged or too long)",
}
_WITHOUT_ARTICLE = (EventKind.DROPPED, EventKind.NOT_AN_ARTICLE)
_FAILED = (EventKind.NO_PAGE, EventKind.UNREADABLE, EventKind.FAULT)
"""Events that explain a missing article, but only until the next successful download of the page."""


def _robots(page: PageRecord) -> str | None:
    """Return the verdict of robots.txt at the last attempt to fetch the page.

    Returns None if the page was never requested.
    """
    for event in reversed(page.history):
        cause = event.get("cause", "")
        if event.get("event") == EventKind.NO_PAGE and cause in _ROBOTS:
            return f"{_ROBOTS[cause]} on {iso(utc(event.get('at') or 0))}"
        # robots.txt is checked before each request, so a successful fetch shows that it was allowed.
        if event.get("event") == EventKind.FETCHED and event.get("status") == 200:
            return f"allowed it on {iso(utc(event.get('at') or 0))}"
    return None


def _found_in(facts: Explanation) -> str | None:
    """Return the place where the URL was first found: the part of a page, and the URL of that page.

    Returns None if the place is no longer known.
    """
    origin = facts.found
    if not origin.get("where"):
        return None
    where = str(origin["where"])
    return f"{where} of {origin['referrer']}" if origin.get("referrer") else where


def _frontier_lines(facts: Explanation, now: float) -> Iterator[Row]:
    if facts.known is None:
        yield _line("queue", "never queued" if facts.page is None else "not in the queue")
        return
    yield _line("queue", STATES.get(facts.known.state, facts.known.state))
    if facts.known.state == "aside":
        yield _line("given up", in_words(str(facts.entry.data.get(ASIDE, ""))) if facts.entry else "unknown")
        yield _line(
            "remedy",
            f"to queue it again, run: {PROGRAM} add '{facts.entry.url if facts.entry else facts.url}'",
        )
    due = facts.known.next_due
    if due is not None:
        yield _line("next due", _moment(due, now) if due > now else "now")
    if facts.entry is not None:
        yield _line(
            "queued as",
            f"{facts.entry.kind}, {counted(facts.entry.depth, 'link')} away from a source of the site",
        )
        if facts.entry.data.get("why"):
            yield _line("because", reason_text(facts.entry.data["why"]))


def _named(facts: Explanation, now: float) -> str:
    """Return where a page that was not fetched is named."""
    if facts.waiting is not None:
        return f"the link waits since {_moment(facts.waiting.at, now)}"
    return "no page or source that newsbot has read contains it"


def _page_lines(facts: Explanation, now: float) -> Iterator[Row]:
    page = facts.page
    if page is None:
        yield _line("page", f"not fetched; {_named(facts, now)}")
        return
    status = "" if page.http_status is None else f", HTTP {page.http_status}"
    yield _line("page", f"{page.kind}, {page.state}{status}")
    if page.url not in (facts.url, facts.canonical_url):
        yield _line("requested as", page.url)
    if robots := _robots(page):
        yield _line("robots.txt", robots)
    yield _line("first seen", _moment(page.first_seen, now))
    if page.last_fetched is not None:
        counts = f"{counted(page.checks, 'check')}, {counted(page.changes, 'change')}"
        counts += f", {counted(page.failures, 'failure')} in a row" if page.failures else ""
        yield _line("last fetched", f"{_moment(page.last_fetched, now)}; {counts}")
    validators = (("etag", page.etag), ("last-modified", page.last_modified), ("type", page.content_type))
    for name, value in validators:
        if value:
            yield _line(name, value)
    for referrer in page.referrers:
        yield _line("linked from", referrer)
    if page.referrer_count > len(page.referrers):
        yield _line("linked from", f"{page.referrer_count - len(page.referrers)} more")


def _article_lines(facts: Explanation) -> Iterator[Row]:
    article = facts.article
    if article is None:
        last = None if facts.page is None else _last_reason(facts.page)
        yield _line("article", "none stored" + _why_not(facts.page, last))
        by_scripts = last is not None and (last.get("scripts") or last.get("cause") == Reason.SCRIPTS)
        if by_scripts and not facts.rule.render:
            text = "scripts seem to produce its text; to run them, set render: true in the rule"
            yield _line("remedy", text)
        return
    if facts.same_text_as:
        yield _line("article", f"same text as {facts.same_text_as}")
    yield _line("article", f"{article.title} (version {article.version} of {facts.versions})")
    yield _line("published", f"{iso(article.published_at) or '-'} (by {article.published_source or '-'})")
    if article.relation:
        likeness = "" if article.similarity is None else f", {article.similarity:.0%} similar to the nearest"
        yield _line("relation", f"{relation_text(article.relation)}{likeness}")
    if article.duplicate_of:
        yield _line("near copy of", article.duplicate_of)
    for url in article.derived_from:
        yield _line("derived from", url)
    for number, line in article.site_lines:
        yield _line("left out", f"{line} (the site repeats it on its pages; it was before line {number + 1})")
    for signal, place in article.rights.items():
        yield _line("reserved", f"{signal} ({place})")
    for member in facts.story:
        yield _line("same story", f"{member.url} ({member.source})")


_RELATIONS = {
    "new": "the first text of its story",
    "member": "nearly the same text",
    "revision": "a new version of the text",
    "derived": "takes over parts of another text",
}


def relation_text(relation: str) -> str:
    """Return the relation of an article to its story in words for users."""
    return _RELATIONS.get(relation, relation)


def _last_reason(page: PageRecord) -> Event | None:
    """Return the last event that explains why there is still no article."""
    reasons: tuple[EventKind, ...] = (*_WITHOUT_ARTICLE, *_FAILED)
    for event in reversed(page.history):
        # A failure before the last successful download no longer explains the missing article. But an earlier
        # verdict of the extraction still explains it, because an unchanged page is not extracted again.
        if event.get("event") == EventKind.FETCHED and event.get("status") == 200:
            reasons = _WITHOUT_ARTICLE
        if event.get("event") in reasons:
            return event
    return None


def _why_not(page: PageRecord | None, last: Event | None) -> str:
    if page is not None and (page.http_status or 0) >= 400:
        return f": HTTP {page.http_status}"
    if last is None:
        return ""
    reason = last.get("reason") or last.get("cause") or last.get("error")
    return f": {last['event'].replace('_', ' ')} ({reason})"


def details(event: Mapping[str, Any]) -> dict[str, str]:
    """Return what is known about an event, by name, besides its time and its kind."""
    known = {name: value for name, value in event.items() if name not in ("at", "event")}
    return {name: str(_shown(name, value)) for name, value in known.items() if value is not None}


def _event_line(event: Mapping[str, Any]) -> str:
    at = event.get("at")
    time_text = utc(at).strftime("%Y-%m-%d %H:%M:%S") if isinstance(at, int | float) else "-"
    told = " ".join(f"{name}={value}" for name, value in details(event).items())
    return f"{time_text}  {event.get('event', '?'):<15} {told}".rstrip()


def _shown(name: str, value: object) -> object:
    if name == "why" and isinstance(value, str):
        return reason_text(value)
    if name == "next_due" and isinstance(value, int | float):
        return iso_of(value)
    return value


def reason_text(stored: str) -> str:
    """Return the text for a reason that is stored with an entry.

    A reason without a text is returned as stored, with spaces between its words.
    """
    return REASONS.get(read_reason(stored)[0], in_words(stored))


def _line(name: str, value: str) -> Row:
    return name, value


def _moment(seconds: float, now: float) -> str:
    return f"{utc(seconds).strftime('%Y-%m-%d %H:%M:%S')} ({when(seconds, now)})"


def document(facts: Explanation) -> dict[str, Any]:
    """Return the explanation as one JSON document; times are ISO 8601."""
    return {
        "url": facts.url,
        "canonical_url": facts.canonical_url,
        "fingerprint": facts.fingerprint.hex(),
        "host": facts.host,
        "site": facts.rule.domain,
        "rule": facts.rule.file if facts.has_rule else None,
        "match": asdict(facts.match) | {"pattern": facts.match.pattern and str(facts.match.pattern)},
        "judgement": asdict(facts.judgement),
        "removed": _removed_document(facts),
        "found_in": _found_in(facts),
        "host_pace": _pace_document(facts),
        "robots": _robots(facts.page) if facts.page else None,
        "queue": _queue_document(facts),
        "page": _page_document(facts.page),
        "article": None if facts.article is None else _article_document(facts.article),
        "versions": facts.versions,
        "same_text_as": facts.same_text_as,
        "story": [_article_document(member) for member in facts.story],
    }


def _removed_document(facts: Explanation) -> dict[str, Any] | None:
    if facts.removed is None:
        return None
    what, note = facts.removed
    return {"what": what, "at": iso_of(note["at"]), "reason": note.get("reason")}


def _pace_document(facts: Explanation) -> dict[str, Any] | None:
    if facts.pace is None:
        return None
    pace = facts.pace
    return {"delay": pace.delay, "concurrency": pace.concurrency, "next_turn": iso_of(pace.next_turn)}


def _queue_document(facts: Explanation) -> dict[str, Any] | None:
    if facts.known is None:
        return None
    entry = facts.entry
    return {
        "state": facts.known.state,
        "next_due": iso_of(facts.known.next_due),
        "last_fetched": iso_of(facts.known.last_fetched),
        "priority": entry.priority if entry else None,
        "depth": entry.depth if entry else None,
        "data": entry.data if entry else None,
        "aside": entry.data.get(ASIDE) if entry else None,
    }


def _page_document(page: PageRecord | None) -> dict[str, Any] | None:
    if page is None:
        return None
    times = ("first_seen", "last_fetched", "last_full_fetch", "next_due")
    hidden = ("fingerprint", "history", *times)
    document = {name: getattr(page, name) for name in page.__dataclass_fields__ if name not in hidden}
    document |= {name: iso_of(getattr(page, name)) for name in times}
    document["history"] = [{**event, "at": iso_of(event.get("at"))} for event in page.history]
    return document


def _article_document(article: Article) -> dict[str, Any]:
    kept = (
        "url",
        "canonical_url",
        "source",
        "title",
        "published_at",
        "version",
        "story",
        "duplicate_of",
        "relation",
        "similarity",
        "derived_from",
        "rights",
    )
    row = {name: value for name, value in article.to_dict().items() if name in kept}
    return row | {"site_lines": [line for _, line in article.site_lines]}


def why(call: Call) -> None:
    """Print all data about a URL, even if no crawl has seen it yet."""
    now = time.time()
    with ExitStack() as stack:
        settings: SettingsLike = call.settings
        has_data = settings.get("MONGO_URI") or settings.get("REDIS_URL") or _has_data(call)
        if not has_data:  # only the rules are used, and no data file is created
            settings = {"NEWSBOT_DATA": stack.enter_context(TemporaryDirectory(prefix="newsbot-"))}
            open_storage(settings).close()
        storage, frontier = stack.enter_context(stored(settings)), stack.enter_context(queued(settings))
        try:
            facts = explain(call.options.url, open_rules(call.settings), storage, frontier, now=now)
        except ValueError as error:
            raise ArgumentError(f"{error}{meant(call.options.url)}") from error
    if call.json:
        call.document(document(facts))
    else:
        for line in lines(facts, now):
            call.text(line)
        if not has_data:
            call.note(not_crawled(call.settings))


def _has_data(call: Call) -> bool:
    try:
        return data_file(call.settings).exists()
    except OSError as error:
        raise DataUnavailable(f"{data_file(call.settings)}: cannot be read ({error.strerror})") from error


ACTIONS = (
    Action(
        "",
        "Explain how a URL was found, judged, fetched, stored or dropped, and when it is due",
        why,
        Argument("url", metavar="URL", help="absolute URL; no request is sent"),
    ),
)
