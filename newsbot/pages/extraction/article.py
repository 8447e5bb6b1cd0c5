"""Creates an :class:`~newsbot.items.Article` from a page.

For each field, the page offers several candidates (possible values). The most trusted candidate is used, and
its source is recorded in ``Article.extraction``.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from lxml.html import HtmlElement

from newsbot import urls
from newsbot.clock import system_clock, utc
from newsbot.errors import NotAnArticle
from newsbot.items import Article, Link
from newsbot.pages.extraction.addresses import canonical_url
from newsbot.pages.extraction.body.selectors import Selected, layout_for
from newsbot.pages.extraction.body.text import TEASER, Body, find_body
from newsbot.pages.extraction.comparison import SiteMemory
from newsbot.pages.extraction.fields import DERIVED, FEED, RULE, SITEMAP, Candidate, best, details, published
from newsbot.pages.extraction.fields.authors import (
    VISIBLE_TRUST,
    author_candidates,
    is_account,
    named_agencies,
    rule_authors,
    visible_authors,
)
from newsbot.pages.extraction.fields.details import form_of, is_partial, media
from newsbot.pages.extraction.fields.titles import (
    choose_title,
    clean_title,
    headline_over_text,
    site_names,
    title_candidates,
)
from newsbot.pages.extraction.page import Page, base_of, first_text
from newsbot.pages.extraction.parsing import parse_html
from newsbot.pages.extraction.verdict import (
    Evidence,
    Standing,
    Witnesses,
    is_no_page,
    measure,
    refuse_evidence,
    refuse_page,
    refuse_text,
    standing_of,
)
from newsbot.pages.rules.rule import Rule
from newsbot.pages.text.languages import detect, normal_code


def extract(html: bytes | str, url: str, rule: Rule | None = None) -> Article | None:
    """Return the article of a page, or None if the page is not an article.

    ``html`` is the body of the response, or its text. ``url`` is the absolute URL of the page. ``rule`` is
    the rule of the site, if there is one. Many pages that are not articles are accepted too, so call this
    function only for pages that are probably articles. Call :func:`read_page` to get the reason for a
    refusal.

    The function is pure and thread-safe. Time and memory are bounded. Raises ``ValueError`` if ``url`` is not
    an absolute URL.
    """
    urls.canonicalize(url)
    if isinstance(html, str):
        # A <meta> in the text may still declare the charset that the page had before it was decoded. A byte
        # order mark overrides this declaration.
        html = codecs.BOM_UTF8 + html.encode(errors="replace")
    try:
        return read_page(html, url, rule=rule, vouched=True)
    except NotAnArticle:
        return None


def read_page(
    html: bytes,
    url: str,
    *,
    rule: Rule | None = None,
    hint: Link | None = None,
    charset: str | None = None,
    now: datetime | None = None,
    tree: HtmlElement | None = None,
    memory: SiteMemory | None = None,
    vouched: bool = False,
) -> Article:
    """Return the article of a page; see :func:`read` for the arguments.

    ``vouched`` is True if a person asked for the page, so that it is refused only if it has no text of its
    own. Raises :class:`NotAnArticle` with a short stable reason, and no other exception for any input.
    """
    standing = Standing.NAMED if vouched else Standing.ALONE
    reading = read(
        html, url, rule=rule, hint=hint, charset=charset, now=now, tree=tree, memory=memory, standing=standing
    )
    if reading.article is None:
        raise NotAnArticle(reading.refusal)
    return reading.article


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a page: an article, or the reason why the page is not an article."""

    article: Article | None = None
    refusal: str = ""
    evidence: Evidence | None = None
    """What the page shows of being an article. It is None if the page has no text that could be one."""


def read(
    html: bytes,
    url: str,
    *,
    rule: Rule | None = None,
    hint: Link | None = None,
    charset: str | None = None,
    now: datetime | None = None,
    tree: HtmlElement | None = None,
    memory: SiteMemory | None = None,
    standing: Standing = Standing.ALONE,
    witnesses: Witnesses | None = None,
) -> Reading:
    """Read a page as an article. Raises no exception for any input.

    ``html`` is the body of the response and ``url`` the URL of the page. The other arguments are optional:

    * ``rule``: the rule of the site.
    * ``hint``: the link that led to the page. Its title and time are possible values for the article. If a
      feed or a news sitemap lists the page, a short text is accepted.
    * ``charset``: the encoding that the server declared.
    * ``now``: the current time (aware; by default from the clock). Dates after this time are not trusted.
    * ``tree``: the result of :func:`parse_html`, to avoid a second parse. It is not changed.
    * ``memory``: the lines that the site prints around its articles. They are removed from the text and kept
      in ``Article.site_lines``. The memory is only read.
    * ``standing``: what is known of the page before it is read.
    * ``witnesses``: how the articles of the site look. The page is compared with them.
    """
    now = now or utc(system_clock())
    if tree is None:
        if is_no_page(html):
            return Reading(refusal="no_page")
        try:
            tree = parse_html(html, charset)
        except NotAnArticle as error:
            return Reading(refusal=error.reason)
    page = Page.read(tree, url)
    # A rule may have several layouts (selectors that are valid for a period of time). The probable day of
    # publication decides which layout applies. The exact date is extracted later with this layout.
    day = published.probable_day(page, hint, now) if rule is not None else None
    selected = Selected(page.tree, layout_for(rule, day, now))
    reader = _Reader(page, selected, rule, hint, now, memory, standing, witnesses)
    try:
        return Reading(reader.article(), evidence=reader.evidence)
    except NotAnArticle as error:
        return Reading(refusal=error.reason, evidence=reader.evidence)


@dataclass(slots=True)
class _Reader:
    """Extracts the fields of one page. The attributes are the arguments of :func:`read`."""

    page: Page
    selected: Selected
    rule: Rule | None
    hint: Link | None
    now: datetime
    memory: SiteMemory | None
    standing: Standing
    witnesses: Witnesses | None
    evidence: Evidence | None = None
    month_first: bool | None = None
    """The order of day and month in the article's date, if its text shows the order."""
    date_source: str | None = None
    """The source of the date, without the dates of feeds and sitemaps."""

    def article(self) -> Article:
        body = find_body(self.page, self.selected)
        standing = standing_of(self.page, body, self.rule, self.hint, self.standing)
        if body.method == RULE:
            standing = Standing.NAMED
        # Many pages that are not articles are refused here, before the other fields are extracted.
        reason = refuse_page(self.page, body, self.hint) or refuse_text(self.page, body, standing)
        if reason is not None:
            raise NotAnArticle(reason)
        title = self._title(body)
        if title is None:
            raise NotAnArticle("no_title")
        canonical, canonical_method = self._canonical()
        article = Article(
            url=self.page.url,
            canonical_url=canonical,
            source=self.rule.domain
            if self.rule is not None
            else urls.site_of(self.page.host)
            if self.page.host
            else "",
            title=title.value,
            text=body.text,
            extraction={"text": body.method, "title": title.method, "canonical_url": canonical_method},
        )
        # Dates and authors are evidence, so they are extracted before the decision.
        self._times(article)
        self._people_and_subjects(article)
        self.evidence = measure(
            self.page,
            body,
            date=self.date_source,
            byline=bool(article.authors) and article.extraction["authors"] != FEED,
            month_first=self.month_first,
        )
        reason = refuse_evidence(self.page, body, self.evidence, standing, self.witnesses)
        if reason is not None:
            raise NotAnArticle(reason)
        # The page of an author has the author's name as its title.
        if standing is not Standing.NAMED and article.title in article.authors:
            raise NotAnArticle("author_page")
        # trimmed() needs the title and the authors: pages repeat both at the head of the text.
        body = self._without_site_lines(body.trimmed(article.title, article.authors), article)
        article.text, article.structure = body.text, body.structure()
        article.form = form_of(self.page, article.title, article.text)
        article.partial = body.method == TEASER or is_partial(self.page, article.text)
        article.media = media(self.page, article.image, article.text, self.hint.media if self.hint else ())
        self._language(article)
        return article

    def _without_site_lines(self, body: Body, article: Article) -> Body:
        """Return the body without the lines that the site prints around its articles.

        The removed lines are recorded in ``article``. A text that a rule selected is not changed. Raises
        :class:`NotAnArticle` if all lines are lines of the site.
        """
        if self.memory is None or body.method == RULE:
            return body
        lines = [block.text for block in body.blocks]
        removed = self.memory.site_lines(self.page.url, lines)
        if not removed:
            return body
        if len(removed) == len(lines):
            raise NotAnArticle("no_text")
        # Positions refer to the remaining text, so lines that were removed before a position are not counted.
        article.site_lines = [(at - before, lines[at]) for before, at in enumerate(removed)]
        kept = set(range(len(lines))).difference(removed)
        return Body(tuple(body.blocks[at] for at in sorted(kept)), body.method, body.view)

    def _canonical(self) -> tuple[str, str]:
        drop = self.rule.drop_query if self.rule is not None else ()
        try:
            return canonical_url(self.page, drop, self.selected.string("canonical_url"))
        except ValueError:  # the page comes from a file, so its URL is empty or the path of the file
            return self.page.url, "url"

    def _title(self, body: Body) -> Candidate[str] | None:
        stated = self.selected.string("title")
        if stated:
            title = clean_title(stated, site_names(self.page))
            if title:
                return Candidate(title, RULE, 1.0)
        found = choose_title(
            list(title_candidates(self.page, self.hint)), partial(headline_over_text, self.page)
        )
        if found is not None:
            return found
        if self.hint is not None and self.hint.text:
            return Candidate(clean_title(self.hint.text, []), "link", 0.3)
        sentence = body.first_sentence()
        return Candidate(sentence, DERIVED, 0.1) if sentence else None

    def _times(self, article: Article) -> None:
        zone = self.rule.timezone if self.rule is not None else None
        order = self.witnesses.month_first if self.witnesses is not None else None
        context = published.DateContext(self.hint, zone, self.now, order)
        when, note = published.published(self.page, self.selected.strings("published_at"), context)
        if note:
            article.extraction["published_at"] = note
        if when is not None:
            article.published_at, article.published_source = when.at, when.source
            article.published_precision = when.precision
            # A page that a feed names may show a date of its own. Otherwise the site's articles would seem
            # undated, and undated pages of the site would be like them.
            if when.source in (FEED, SITEMAP):
                when, _ = published.published(self.page, [], replace(context, hint=None))
        if when is not None:
            self.date_source, self.month_first = when.source, when.month_first
        stated = self.selected.strings("modified_at")
        changed = published.modified(self.page, stated, context, article.published_at)
        if changed is not None:
            article.modified_at = changed.at
            article.extraction["modified_at"] = changed.note

    def _people_and_subjects(self, article: Article) -> None:
        said = article.extraction
        if authors := self._authors():
            article.authors, said["authors"] = authors.value, authors.method
        article.agencies = named_agencies(self.page, authors.value if authors else ())
        if summary := self._stated("summary") or details.summary(self.page, article.title):
            article.summary, said["summary"] = summary.value, summary.method
        if section := self._stated("section") or details.section(self.page):
            article.section, said["section"] = section.value, section.method
        stated = details.clean_tags(self.selected.strings("tags"), article.title)
        if tags := Candidate(stated, RULE, 1.0) if stated else details.tags(self.page, article.title):
            article.tags, said["tags"] = tags.value, tags.method
        if image := self._stated_image() or details.image(self.page):
            article.image, said["image"] = image.value, image.method

    def _authors(self) -> Candidate[list[str]] | None:
        stated = rule_authors(self.selected.strings("authors"))
        if stated is not None:
            return stated
        found = best(author_candidates(self.page, self.hint))
        # The visible byline is trusted more than weak metadata, which often name the site or the editor.
        if found is not None and found.confidence > VISIBLE_TRUST and not is_account(found.value):
            return found
        seen = visible_authors(self.page)
        if (
            found is not None
            and found.confidence > VISIBLE_TRUST
            and (seen is None or is_account(seen.value))
        ):
            return found
        return seen or found

    def _stated(self, field: str) -> Candidate[str] | None:
        value = self.selected.string(field)
        return Candidate(value[: details.MAX_SUMMARY], RULE, 1.0) if value else None

    def _stated_image(self) -> Candidate[str] | None:
        for value in self.selected.addresses("image"):
            resolved = urls.resolve(base_of(self.page), value)
            if resolved is not None:
                return Candidate(resolved, RULE, 1.0)
        return None

    def _language(self, article: Article) -> None:
        stated = normal_code(self.selected.string("language"))
        prior = (
            (self.rule.language if self.rule is not None else None)
            or self.page.html_lang
            or self.page.meta("og:locale", "content-language", "language", "inlanguage")
            or first_text((self.page.article or {}).get("inLanguage"))
        )
        found = stated or detect(f"{article.title}\n{article.text}", prior)
        if found:
            article.language = found
            article.extraction["language"] = (
                RULE if stated else "text" if found != normal_code(prior) else "text+tag"
            )
