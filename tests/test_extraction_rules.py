"""A site's rule has precedence over other sources."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from lxml.html import document_fromstring

from newsbot.items import Where
from newsbot.pages.extraction.body import text
from newsbot.pages.extraction.body.selectors import Selected
from tests.extraction_pages import PROSE, TEXT, from_feed, json_ld, layout, page, read, rule

PAGE = page(
    json_ld('{"@type":"NewsArticle","headline":"Linked","datePublished":"2024-05-01T00:00:01Z"}')
    + '<meta name="x-title" content="From the meta tag">',
    f"""<div class=head><b class=title>Chosen headline</b><span class=who>Ann Lee, Bob Ray</span>
    <span class=when data-at="2024-05-03T14:05">today</span></div>
    <div class=story>{TEXT}<div class=promo>Buy our calendar now, it has pictures of the dam.</div></div>
    <img class=lead src="/lead.jpg"><a class=tag>water</a><a class=tag>roads</a>""",
)


@pytest.mark.parametrize(
    ("html", "costly"),
    [("<p>x" * 2_000, "h1 ~ p"), (("<div>" * 200 + "<i>x</i>" * 20 + "</div>" * 200) * 20, "div div i")],
)
def test_an_expensive_selector_is_not_run_on_a_hostile_page(html: str, costly: str) -> None:
    def found(markup: str, selector: str) -> list[str]:
        tree = document_fromstring(f"<body><h1>Title</h1>{markup}</body>")
        return Selected(tree, layout(authors=selector)).strings("authors")

    assert found("<p>x</p><div><div><i>x</i></div></div>", costly) == ["x"]
    assert found(html, costly) == []
    assert found(html, "h1") == ["Title"]


def test_selectors_have_precedence_over_all_other_evidence() -> None:
    article = read(
        PAGE,
        rule=rule(
            layout(
                title="b.title",
                text=".story p",
                authors=".who",
                published_at=".when::attr(data-at)",
                tags="a.tag::text",
                image="img.lead",
                section="xpath://span[@class='who']/text()",
                summary=".story p",
            ),
            timezone="Europe/Moscow",
        ),
    )
    assert article.title == "Chosen headline"
    assert article.text.splitlines() == PROSE
    assert article.authors == ["Ann Lee", "Bob Ray"]
    assert article.published_at == datetime(2024, 5, 3, 11, 5, tzinfo=UTC)
    assert (article.published_source, article.published_precision) == ("rule", "minute")
    assert article.tags == ["water", "roads"]
    assert article.image == "https://www.example.org/lead.jpg"
    assert article.summary == PROSE[0]
    assert article.source == "example.org"
    assert article.extraction["published_at"] == "rule+rule-zone"
    assert {article.extraction[field] for field in ("title", "text", "authors", "tags", "image")} == {"rule"}


@pytest.mark.parametrize(
    ("selectors", "title"),
    [
        (["b.title"], "Chosen headline"),
        (["h2.none", "xpath://b[@class='title']"], "Chosen headline"),
        (["xpath://meta[@name='x-title']"], "From the meta tag"),
        (["xpath://meta[@name='x-title']/@content"], "From the meta tag"),
        (["meta[name=x-title]::attr(content)", "b.title"], "From the meta tag"),
    ],
)
def test_alternatives_are_tried_in_order(selectors: list[str], title: str) -> None:
    assert read(PAGE, rule=rule(layout(title=selectors))).title == title


def test_other_evidence_is_used_if_selectors_match_no_element() -> None:
    article = read(PAGE, rule=rule(layout(title="h5.none", text=".none", published_at=".none")))
    assert article.published_source == "json-ld"
    assert article.extraction["text"] == "learned"
    assert PROSE[0] in article.text


def test_removed_parts_are_not_in_a_selected_text() -> None:
    whole = read(PAGE, rule=rule(layout(text=".story")))
    assert "calendar" in whole.text
    cut = read(PAGE, rule=rule(layout(text=".story", remove=(".promo",))))
    assert cut.text.splitlines() == PROSE


def test_removed_parts_are_not_in_a_generic_text() -> None:
    html = page(
        body=f"{TEXT}<p class=promo>Buy our calendar now, it has pictures of the dam and of the mayor.</p>"
    )
    assert "calendar" in read(html).text
    assert "calendar" not in read(html, rule=rule(layout(remove=("p.promo",)))).text


def test_nested_matches_are_used_once() -> None:
    html = page(body=f"<div class=a><div class=a>{TEXT}</div></div>")
    assert read(html, rule=rule(layout(text="div.a"))).text.splitlines() == PROSE


@pytest.mark.parametrize(
    ("published", "title"),
    [
        ("2019-12-31", "Old"),
        ("2020-01-01", "Middle"),
        ("2023-06-01", "Middle"),
        ("2024-02-01", "New"),
        (None, "New"),
    ],
)
def test_the_layout_of_the_day_of_publication(published: str | None, title: str) -> None:
    layouts = (
        layout("2024-01-01", title=".new"),
        layout("2020-01-01", title=".middle"),
        layout(None, title=".old"),
    )
    html = page(body=f"<i class=old>Old</i><i class=middle>Middle</i><i class=new>New</i>{TEXT}")
    at = datetime.fromisoformat(published).replace(tzinfo=UTC) if published else None
    hint = from_feed(published_at=at, where=Where.NEWS_SITEMAP)
    assert read(html, rule=rule(*layouts), hint=hint).title == title


def test_a_page_whose_text_a_rule_selects_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("called")

    monkeypatch.setattr(text, "taken", never)
    assert read(PAGE, rule=rule(layout(text=".story p"))).text.splitlines() == PROSE


def test_the_language_of_the_rule_is_only_a_prior() -> None:
    assert read(page(), rule=rule(language="de")).language == "en"
