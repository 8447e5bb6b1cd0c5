"""From a page to an :class:`~newsbot.items.Article`: each field by evidence, and which evidence won."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lxml.html import HtmlElement

from newsbot import urls
from newsbot.clock import system_clock, utc
from newsbot.errors import NotAnArticle
from newsbot.extraction import details, published
from newsbot.extraction.agencies import named_agencies
from newsbot.extraction.authors import VISIBLE_TRUST, author_candidates, rule_authors, visible_authors
from newsbot.extraction.body.text import TEASER, Body, find_body
from newsbot.extraction.boilerplate import SiteMemory
from newsbot.extraction.canonical import canonical_url
from newsbot.extraction.evidence import DERIVED, RULE, Candidate, best
from newsbot.extraction.form import form_of, is_partial
from newsbot.extraction.jsonld import first_text
from newsbot.extraction.language import detect, normal_code
from newsbot.extraction.page import Page
from newsbot.extraction.parse import parse_html
from newsbot.extraction.selectors import Selected, layout_for
from newsbot.extraction.sitename import clean_title, site_names
from newsbot.extraction.titles import choose_title, title_candidates
from newsbot.extraction.verdict import is_no_page, refuse_page, refuse_text
from newsbot.items import Article, Link
from newsbot.rules.schema import Rule


def extract(html: bytes, url: str, rule: Rule | None = None) -> Article | None:
    """Return the article of a page, or None if the page holds none.

    Pure and thread-safe. Time and memory are bounded. :func:`read_page` tells why there is none.
    """
    try:
        return read_page(html, url, rule=rule)
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
) -> Article:
    """Return the article of a page.

    ``hint`` is the link that led to the page: its title and time are evidence, and a page that a feed
    or a news sitemap announced may be short. ``charset`` is what the server declared. ``now`` (aware;
    default the clock) bounds dates. ``tree`` is the page as :func:`parse_html` gave it, to parse it only
    once; it is not changed. ``memory`` holds lines of other articles of the site, which are no part of
    this one; it is only read, and knows this article by ``url``. Raises :class:`NotAnArticle` with a
    short stable reason, for any input.
    """
    now = now or utc(system_clock())
    if tree is None and is_no_page(html):
        raise NotAnArticle("no_page")
    page = Page.read(parse_html(html, charset) if tree is None else tree, url)
    day = published.probable_day(page, hint, now) if rule is not None else None
    selected = Selected(page.tree, layout_for(rule, day, now))
    return _Reader(page, selected, rule, hint, now, memory).article()


@dataclass(slots=True)
class _Reader:
    page: Page
    selected: Selected
    rule: Rule | None
    hint: Link | None
    now: datetime
    memory: SiteMemory | None = None

    def article(self) -> Article:
        body = find_body(self.page, self.selected, self.memory)
        self._refuse(body)
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
        self._times(article)
        self._people_and_subjects(article)
        body = body.trimmed(article.title, article.authors)
        article.text, article.structure = body.text, body.structure()
        article.form = form_of(self.page, article.title, article.text)
        article.partial = body.method == TEASER or is_partial(self.page, article.text)
        self._language(article)
        return article

    def _refuse(self, body: Body) -> None:
        reason = refuse_page(self.page, body.text, self.hint) or refuse_text(
            self.page, body.blocks, body.view, self.rule, self.hint
        )
        if reason is not None:
            raise NotAnArticle(reason)

    def _canonical(self) -> tuple[str, str]:
        drop = self.rule.drop_query if self.rule is not None else ()
        try:
            return canonical_url(self.page, drop, self.selected.string("canonical_url"))
        except ValueError:  # a page that was not fetched: an empty address, a file
            return self.page.url, "url"

    def _title(self, body: Body) -> Candidate[str] | None:
        stated = self.selected.string("title")
        if stated:
            title = clean_title(stated, site_names(self.page))
            if title:
                return Candidate(title, RULE, 1.0)
        found = choose_title(list(title_candidates(self.page, self.hint)))
        if found is not None:
            return found
        if self.hint is not None and self.hint.text:
            return Candidate(clean_title(self.hint.text, []), "link", 0.3)
        sentence = body.first_sentence()
        return Candidate(sentence, DERIVED, 0.1) if sentence else None

    def _times(self, article: Article) -> None:
        given = published.Given(self.hint, self.rule.timezone if self.rule is not None else None, self.now)
        when = published.published(self.page, self.selected.strings("published_at"), given)
        if when is not None:
            article.published_at, article.published_source = when.at, when.source
            article.published_precision = when.precision
            article.extraction["published_at"] = when.note
        stated = self.selected.strings("modified_at")
        changed = published.modified(self.page, stated, given, article.published_at)
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
        found = best(author_candidates(self.page))
        if found is not None and found.confidence > VISIBLE_TRUST:
            return found
        return visible_authors(self.page) or found

    def _stated(self, field: str) -> Candidate[str] | None:
        value = self.selected.string(field)
        return Candidate(value[: details.MAX_SUMMARY], RULE, 1.0) if value else None

    def _stated_image(self) -> Candidate[str] | None:
        for value in self.selected.addresses("image"):
            resolved = urls.resolve(self.page.url, value)
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
