"""Complete pages, and the precedence of sources for each field."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime

import pytest

from newsbot.errors import NotAnArticle
from newsbot.items import Where
from newsbot.pages.extraction import extract, parse_html, read_page
from newsbot.pages.extraction.page import MAX_SCRIPT, Page
from tests.extraction_pages import (
    NOW,
    PROSE,
    TEXT,
    URL,
    from_feed,
    json_ld,
    layout,
    page,
    read,
    rule,
    saved,
)

FENLAND = "https://www.fenlandpost.example/news/2024/05/harbour-bridge-opens?utm_medium=x"


def test_every_field_of_a_page_with_json_ld_is_found_with_its_source() -> None:
    article = read(saved("news_jsonld.html"), FENLAND)
    assert article.title == "Harbour bridge opens two months early"
    assert article.authors == ["Ada Marsh", "Tom Reed"]
    assert article.published_at == datetime(2024, 5, 3, 8, 15, 20, tzinfo=UTC)
    assert (article.published_source, article.published_precision) == ("json-ld", "second")
    assert article.modified_at == datetime(2024, 5, 3, 10, 40, tzinfo=UTC)
    assert article.canonical_url == "https://www.fenlandpost.example/news/2024/05/harbour-bridge-opens"
    assert article.source == "fenlandpost.example"
    assert article.section == "Local"
    assert article.tags == ["bridges", "Saltmarsh", "transport"]
    assert article.image == "https://www.fenlandpost.example/img/bridge.jpg"
    assert article.summary is not None
    assert article.summary.startswith("The new crossing")
    assert article.language == "en"
    assert article.content_hash == ""
    assert article.extraction["published_at"] == "json-ld"
    assert set(article.extraction) == {
        "title", "text", "authors", "published_at", "modified_at", "canonical_url", "section", "tags",
        "image", "summary", "language",
    }  # fmt: skip


def test_the_pages_own_article_is_recognised() -> None:
    assert Page.read(parse_html(saved("news_jsonld.html")), FENLAND).has_own_article
    assert not Page.read(parse_html(page()), URL).has_own_article


def test_an_endless_script_does_not_hide_the_next_one() -> None:
    head = json_ld(f'{{"@type":"WebSite","name":"{"x" * MAX_SCRIPT}"}}')
    head += json_ld('{"@type":"NewsArticle","headline":"x","datePublished":"2024-05-03T10:00:01Z"}')
    assert read(page(head)).published_source == "json-ld"


def test_the_text_consists_of_paragraphs_and_subheadings_only() -> None:
    lines = read(saved("news_jsonld.html"), FENLAND).text.splitlines()
    assert [line.split()[0] for line in lines] == ["The", "About", "Under", "The", "The"]
    assert lines[2] == "Under the budget"
    assert read(saved("news_jsonld.html"), FENLAND).structure == {"heading": [2]}


def test_subheadings_quotes_and_lists_are_distinguished() -> None:
    quote = "<blockquote><p>We have never seen water like this, not in forty years.</p></blockquote>"
    listed = "<ul><li>Road 5 is closed until Monday.</li><li>Road 7 is open in one lane.</li></ul>"
    more = TEXT.replace("The", "This")
    article = read(page(body=f"{TEXT}<h2>What comes next</h2>{more}{quote}{listed}<p>{PROSE[0]} It is.</p>"))
    lines = article.text.split("\n")
    kinds = {lines[number]: kind for kind, numbers in article.structure.items() for number in numbers}
    assert kinds == {
        "What comes next": "heading",
        "We have never seen water like this, not in forty years.": "quote",
        "Road 5 is closed until Monday.": "item",
        "Road 7 is open in one lane.": "item",
    }


def test_an_old_russian_page_without_metadata() -> None:
    article = read(
        saved("news_ru_plain.html").decode().encode("cp1251"), "http://vesti.example/news/113.html"
    )
    assert article.title == "Новый трамвай вышел на линию в Заречье"
    assert article.published_at == datetime(2024, 5, 3, 14, 5, tzinfo=UTC)
    assert (article.published_source, article.published_precision) == ("visible", "minute")
    assert article.extraction["published_at"] == "visible+assumed-utc"
    assert article.language == "ru"
    assert article.text.startswith("В пятницу утром")
    assert "Читайте" not in article.text
    assert "ссылка обязательна" not in article.text
    assert len(article.text.splitlines()) == 3


def test_microdata() -> None:
    article = read(saved("microdata.html"), "https://talbote.example/stadt/freibad-beschlossen")
    assert article.title == "Stadtrat beschließt neues Freibad"
    assert article.authors == ["Karin Vogt"]
    assert article.published_at == datetime(2023, 11, 8, 17, 30, tzinfo=UTC)
    assert article.published_source == "microdata"
    assert (article.section, article.language) == ("Stadt", "de")
    assert article.text.count("\n") == 2


@pytest.mark.parametrize(
    ("head", "source"),
    [
        (json_ld('{"@type":"NewsArticle","headline":"x","datePublished":"2024-05-03T10:00:01Z"}'), "json-ld"),
        ('<meta property="article:published_time" content="2024-05-03T10:00:01Z">', "og"),
        ('<meta name="parsely-pub-date" content="2024-05-03T10:00:01Z">', "meta"),
        ('<meta name="DC.date.issued" content="2024-05-03T10:00:01Z">', "meta"),
        ('<meta name="citation_publication_date" content="2024/05/03 10:00:01 UTC">', "meta"),
        ('<meta name="sailthru.date" content="Fri, 03 May 2024 10:00:01 GMT">', "meta"),
        ("<time datetime='2024-05-03T10:00:01Z'>this morning</time>", "time-tag"),
    ],
)
def test_each_source_of_a_date(head: str, source: str) -> None:
    article = read(page(head))
    assert article.published_at == datetime(2024, 5, 3, 10, 0, 1, tzinfo=UTC)
    assert article.published_source == source


def test_precedence_of_dates() -> None:
    graph = '<meta property="article:published_time" content="2024-05-02T10:00:01Z">'
    linked = json_ld('{"@type":"NewsArticle","headline":"x","datePublished":"2024-05-01T10:00:01Z"}')
    hint = from_feed(published_at=datetime(2024, 5, 3, 1, 2, 3, tzinfo=UTC))
    assert read(page(graph + linked), hint=hint).published_source == "json-ld"
    assert read(page(graph), hint=hint).published_source == "og"
    assert read(page("<time datetime='2024-05-04'></time>"), hint=hint).published_source == "feed"
    sitemap = from_feed(published_at=datetime(2024, 5, 3, 1, 2, 3, tzinfo=UTC), where=Where.NEWS_SITEMAP)
    assert read(page(), hint=sitemap).published_source == "sitemap"
    dated = "https://www.example.org/2024/05/06/story-of-the-day"
    assert (read(page(), dated).published_source, read(page(), dated).published_precision) == ("url", "day")


def test_the_time_of_a_link_is_used_only_if_a_feed_gave_it() -> None:
    hint = from_feed(published_at=datetime(2024, 5, 3, tzinfo=UTC), where=Where.BODY)
    assert read(page(), hint=hint).published_at is None


def test_a_time_on_the_same_day_is_preferred_to_a_date_without_a_time() -> None:
    head = json_ld('{"@type":"NewsArticle","headline":"x","datePublished":"2024-05-03T00:00:00Z"}')
    article = read(page(head, "<time datetime='2024-05-03T14:05'>3 May</time>" + TEXT))
    assert article.published_at == datetime(2024, 5, 3, 14, 5, tzinfo=UTC)
    assert (article.published_source, article.published_precision) == ("time-tag", "minute")


def test_a_modification_time_before_the_publication_is_ignored() -> None:
    head = json_ld(
        '{"@type":"NewsArticle","headline":"x","datePublished":"2024-05-03T10:00:01Z","dateModified":"2024-05-01T10:00:01Z"}'
    )
    assert read(page(head)).modified_at is None


@pytest.mark.parametrize(
    "stamp",
    [
        "9999-12-31T00:00:00Z",
        "9999-12-31T23:59:59-11:00",
        "1970-01-01T00:00:00Z",
        "2024-05-12T00:00:01Z",
        "0001-01-01",
        "2024-13-45",
    ],
)
def test_impossible_dates_are_refused(stamp: str) -> None:
    head = json_ld(f'{{"@type":"NewsArticle","headline":"x","datePublished":"{stamp}"}}')
    assert read(page(head)).published_at is None
    fallback = read(page(head + '<meta name="pubdate" content="2024-05-03T10:00:00Z">'))
    assert fallback.published_source == "meta"


def test_without_a_title_on_the_page_the_feed_or_the_first_sentence_is_used() -> None:
    bare = page(title="")
    assert read(bare, hint=from_feed("Lower road closed by rain")).title == "Lower road closed by rain"
    assert read(bare).title == PROSE[0]
    assert read(bare).extraction["title"] == "derived"


def test_a_page_without_any_title_is_not_an_article() -> None:
    with pytest.raises(NotAnArticle, match="no_title"):
        read(
            page(body="<p>" + "line, line, <br>" * 200 + "</p>", title=""),
            hint=from_feed(),
            rule=rule(layout(text="p")),
        )


def test_the_canonical_url_is_used_only_if_it_is_plausible() -> None:
    def canonical(href: str, url: str = URL) -> str:
        return read(page(f'<link rel="canonical" href="{href}">'), url).canonical_url

    assert canonical("/news/2024/rain") == "https://www.example.org/news/2024/rain"
    assert canonical("https://m.example.org/news/2024/rain") == "https://m.example.org/news/2024/rain"
    for wrong in (
        "https://www.example.org/",
        "https://elsewhere.example/x-y-z",
        "javascript:void(0)",
        "http://[",
    ):
        assert canonical(wrong) == URL


@pytest.mark.parametrize(
    ("url", "stated"),
    [
        ("https://www.example.org/news/rain/amp", "https://www.example.org/news/rain"),
        ("https://www.example.org/news/rain/amp/", "https://www.example.org/news/rain/"),
        ("https://www.example.org/news/rain/print/", "https://www.example.org/news/rain/"),
        ("https://amp.example.org/news/rain", "https://www.example.org/news/rain"),
        (
            "https://www-example-org.cdn.ampproject.org/c/s/www.example.org/news/rain",
            "https://www.example.org/news/rain",
        ),
    ],
)
def test_the_canonical_url_of_amp_and_print_pages_is_the_original(url: str, stated: str) -> None:
    assert read(page(f'<link rel="canonical" href="{stated}">'), url).canonical_url == stated


def test_the_canonical_url_of_a_cached_page_must_be_the_cached_url() -> None:
    url = "https://www-example-org.cdn.ampproject.org/c/s/www.example.org/news/rain"
    assert (
        read(page('<link rel="canonical" href="https://elsewhere.example/news">'), url).canonical_url == url
    )
    section = "https://www.example.org/news/rain"
    assert read(page('<link rel="canonical" href="/news/">'), section).canonical_url == section


@pytest.mark.parametrize(
    "value",
    ['["2024-05-03T10:00:01Z"]', '{"@value":"2024-05-03T10:00:01Z"}', "1714730401000", "1714730401.0"],
)
def test_dates_in_json_ld_may_have_other_types(value: str) -> None:
    head = json_ld(f'{{"@type":"NewsArticle","headline":"x","datePublished":{value}}}')
    assert read(page(head)).published_at == datetime(2024, 5, 3, 10, 0, 1, tzinfo=UTC)


def test_json_ld_of_other_articles_is_ignored() -> None:
    teasers = ",".join(
        f'{{"@type":"NewsArticle","url":"/other/{n}","headline":"Other {n}","datePublished":"2024-04-0{n}"}}'
        for n in range(1, 6)
    )
    assert read(page(json_ld(f"[{teasers}]"))).published_at is None
    own = f'{{"@type":"NewsArticle","url":"{URL}","headline":"Rain","datePublished":"2024-05-03T10:00:00Z"}}'
    assert read(page(json_ld(f"[{teasers},{own}]"))).published_at == datetime(2024, 5, 3, 10, tzinfo=UTC)


def test_article_body_of_json_ld_is_used_if_the_text_is_loaded_by_scripts() -> None:
    body = "\\n".join(PROSE)
    head = json_ld(
        f'{{"@type":"NewsArticle","headline":"Rain closes the lower road","articleBody":"{body}"}}'
    )
    article = read(page(head, "<div id=app></div>"))
    assert article.text.splitlines() == PROSE
    assert article.extraction["text"] == "json-ld"


def test_text_in_scripts_only() -> None:
    state = TEXT.replace("<", "\\u003c")
    article = read(page(body=f'<script>self.push([1,"{state}"])</script>'))
    assert article.text.splitlines() == PROSE
    assert article.extraction["text"] == "embedded"


@pytest.mark.parametrize(
    "state",
    [
        json.dumps({"blocks": [{"type": "paragraph", "text": line} for line in PROSE]}),
        json.dumps({"body": "\n\n".join(PROSE), "menu": "Home"}),
        json.dumps(["a", json.dumps({"blocks": [{"text": line} for line in PROSE]})]),
    ],
)
def test_paragraphs_in_article_data_only(state: str) -> None:
    script = f'<script id=__NEXT_DATA__ type="application/json">{state}</script>'
    article = read(page('<meta property="og:type" content="article">', script))
    assert article.text.splitlines() == PROSE
    assert article.extraction["text"] == "embedded"
    with pytest.raises(NotAnArticle):
        read(page(body=script))


def test_incomplete_sentences_in_data_are_not_used_as_text() -> None:
    pieces = [{"text": f"{line} The"} for line in PROSE] + [{"text": line[4:]} for line in PROSE]
    script = f"<script>let state = {json.dumps(pieces)}</script>"
    with pytest.raises(NotAnArticle):
        read(page('<meta property="og:type" content="article">', script))


def test_extraction_does_not_change_the_shared_tree() -> None:
    html = saved("news_jsonld.html")
    tree = parse_html(html)
    before = len(list(tree.iter()))
    one = read_page(b"", FENLAND, tree=tree, now=NOW)
    assert one == read(html, FENLAND)
    assert len(list(tree.iter())) == before


def test_extract_returns_an_article_or_none() -> None:
    article = extract(saved("news_jsonld.html"), FENLAND)
    assert article is not None
    assert article.title == "Harbour bridge opens two months early"
    assert extract(b"", FENLAND) is None


def test_several_threads_get_the_same_result() -> None:
    html = saved("news_jsonld.html")
    found: list[object] = []

    def work() -> None:
        found.extend(read(html, FENLAND) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert all(article == found[0] for article in found)


def test_a_page_without_a_url_is_read() -> None:
    article = read(page(), "")
    assert (article.url, article.canonical_url, article.source) == ("", "", "")
