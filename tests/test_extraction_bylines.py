"""Bylines with dates, roles, places and small words; headlines beside a logo; stated addresses."""

from __future__ import annotations

import pytest

from tests.extraction_pages import TEXT, json_ld, page, read


@pytest.mark.parametrize(
    ("byline", "expected"),
    [
        ("<p>By Mary Poole on 27/11/2026</p>", ["Mary Poole"]),
        ("<p>Von Karl Voss am 27.11.2026, 10:04</p>", ["Karl Voss"]),
        ("<p>Автор Олег Орлов 27.11.2026</p>", ["Олег Орлов"]),
        ("<p>written by Mary Poole on 2026-11-27</p>", ["Mary Poole"]),
        ("<p>Posted by Mary Poole on 11/27/26</p>", ["Mary Poole"]),
        ("<p class=byline>Mary Poole, Health Editor, and Tom Wick in Oslo</p>", ["Mary Poole", "Tom Wick"]),
        ("<p>By Inés de la Vega</p>", ["Inés de la Vega"]),
        ("<p>Von Anna von der Heide</p>", ["Anna von der Heide"]),
        ("<p>Por Rui da Costa</p>", ["Rui da Costa"]),
        ("<p>By Omar al-Hadi</p>", ["Omar al-Hadi"]),
        ("<div class=byline>By <a href=/p>Mary Poole</a><span>Staff Writer</span></div>", ["Mary Poole"]),
        ("<div class=byline><b>Mary Poole</b><b>CFO</b></div>", ["Mary Poole"]),
        ("<p class=author>文● 佐藤花子／ABC編集部</p>", ["佐藤花子"]),
        ("<p>（記者林大同／台中報導）</p>", ["林大同"]),
        ("<p class=author>作者：林大同 翻譯 陳小華</p>", ["林大同", "陳小華"]),
        ("<p class=author>作者：[法] 让·雅克·莫罗 责编：陈小华</p>", ["让·雅克·莫罗"]),
        ("<p class=author>文/林大同 图/陈小华</p>", ["林大同"]),
        ("<p class=author>来源：东港日报 作者：林大同 编辑：陈小华</p>", ["林大同"]),
        ("<p class=author>박서준 기자</p>", ["박서준"]),
        ("<p class=byline>서울=박서준 기자</p>", ["박서준"]),
        ("<p class=byline>(부산=연합뉴스) 박서준 기자</p>", ["박서준"]),
        ("<div class=reporter>박서준 기자 seo@paper.example</div>", ["박서준"]),
        ("<p class=author>نویسنده: آرش کمالی</p>", ["آرش کمالی"]),
        ("<p class=byline>autor: Ewa Maj, zdjęcia: Jan Lis</p>", ["Ewa Maj"]),
        ("<p>بقلم أحمد كمال</p>", ["أحمد كمال"]),
        ("<p><em>كتب: أحمد كمال</em></p>", ["أحمد كمال"]),
        ("<div>الكاتبة: ليلى حسن</div>", ["ليلى حسن"]),
        ("<p>מאת דנה לוי</p>", ["דנה לוי"]),
        ("<p>记者 林大同</p>", ["林大同"]),
        ("<p>本报记者 林大同</p>", ["林大同"]),
        ("<p>文/林大同</p>", ["林大同"]),
        ("<p>Texto: Inés Vega</p>", ["Inés Vega"]),
        ("<font size=1>By Mary Poole</font><br>", ["Mary Poole"]),
        ("<p>记者 从市政府获悉，大桥将关闭三天。</p>", []),
        ("<p class=byline>Von: [[author]]</p>", []),
        ("<p class=byline>Karl Voss, Berlin</p>", ["Karl Voss"]),
        ("<p class=byline>By Mary Poole and Tom Wick, Washington</p>", ["Mary Poole", "Tom Wick"]),
        ("<p>Von Karl Voss und Anna von der Heide, Hamburg</p>", ["Karl Voss", "Anna von der Heide"]),
        ("<p class=autor>Por Lucía Pérez, Madrid</p>", ["Lucía Pérez"]),
        ("<p class=auteur>Marie Roux, envoyée spéciale à Kiev</p>", ["Marie Roux"]),
        ("<p class=author>Олег Орлов, Анна Сидорова, корреспонденты</p>", ["Олег Орлов", "Анна Сидорова"]),
        ("<p class=byline>By Mary Poole, AFP</p>", ["Mary Poole", "AFP"]),
        ("<p class=meta>Posted by Mary Poole at 10:04 AM on Friday</p>", ["Mary Poole"]),
        ("<p class=byline>By Mary Poole | Medically reviewed by Tom Wick, MD</p>", ["Mary Poole"]),
        ("<p class=writer>取材・文：佐藤花子</p>", ["佐藤花子"]),
        ("<p>文・写真＝佐藤花子</p>", ["佐藤花子"]),
        ("<p class=writer>佐藤花子 記者</p>", ["佐藤花子"]),
        ("<p class=author>文｜林大同</p>", ["林大同"]),
        ("<p class=author>Penulis: Budi Santoso | Editor: Siti Rahma</p>", ["Budi Santoso"]),
        (
            "<div class=author-2>Budi Santoso</div><p>Editor: <a href=/author/7>Siti Rahma</a></p>",
            ["Budi Santoso"],
        ),
        ("<table><tr><th>Author:</th><td>Mary Poole</td></tr></table>", ["Mary Poole"]),
        ("<dl><dt>Author</dt><dd>Mary Poole</dd></dl>", ["Mary Poole"]),
        (
            "<b property=schema:author typeof=Person><i property=schema:name>Mary Poole</i></b>",
            ["Mary Poole"],
        ),
        ("<span rel=schema:author><span property=schema:name>Mary Poole</span></span>", ["Mary Poole"]),
        ("<p>Text <span itemprop=author>Mary Poole</span></p>", ["Mary Poole"]),
        ("<p>From <span itemprop=author>The reviewers of a museum</span></p>", []),
        ("<p class=byline>By Paper News</p><meta property=og:site_name content='Paper News'>", []),
        ("<a href=/autoren/>Wer schreibt hier?</a>", []),
        ("<p class=byline>By Mary Poole, New York</p>", ["Mary Poole"]),
        ("<p>構成・文／佐藤花子</p>", ["佐藤花子"]),
        (
            f"{TEXT}<div class=side><a href=/q>Fish prices rise again</a><a rel=author>Tom Wick</a></div>",
            [],
        ),
        (
            f"{TEXT}<div><h3><a href=/q>Fish prices rise again</a></h3><p class=byline>By Tom Wick</p></div>",
            [],
        ),
        ("<p class=meta>Posted on 27 November 2024 by Mary Poole in Traffic</p>", ["Mary Poole"]),
        ("<dl><dd class=createdby>Geschrieben von Karl Voss</dd></dl>", ["Karl Voss"]),
        ("<p class=byline>政治部・佐藤花子</p>", ["佐藤花子"]),
        ("<p class=author>本报记者 林大同 陈小华</p>", ["林大同", "陈小华"]),
        ("<p>[서울=뉴시스] 박서준 기자 = 다리가 폐쇄됐다고 시청이 밝혔다.</p>", ["박서준"]),
        ("<p class=byline>Chief political correspondent Mary Poole</p>", ["Mary Poole"]),
        ("<div><span>Mary Poole |</span><span class=d>05.04.2024</span></div>", ["Mary Poole"]),
        ("<p>Олег Орлов, 5 апреля 2024</p>", ["Олег Орлов"]),
        ("<p>Example Org | 05.04.2024</p>", []),
        ("<p><a href=/culture/>Music And Film | 05.04.2024</a></p>", []),
        ("<ul><li><a href=/reporter-list/>記者リスト</a></li></ul>", []),
    ],
)
def test_visible_bylines(byline: str, expected: list[str]) -> None:
    assert read(page(body=byline + TEXT)).authors == expected


def test_links_in_the_header_of_the_page_are_no_authors() -> None:
    menu = "<header><ul><li><a rel=author href=/author/tom>Tom Wick</a></li></ul></header>"
    html = f"<title>Rain</title>{menu}<main><h1>Rain closes the lower road</h1>{TEXT}</main>"
    assert read(html.encode()).authors == []


def test_a_button_is_no_part_of_the_headline() -> None:
    article = read(page(h1="Rain closes the lower road <button>Share</button>"))
    assert article.title == "Rain closes the lower road"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("<meta name=author content='Poole, Mary'>", ["Mary Poole"]),
        ("<meta name=author content='van Wick, Tom; Poole, Mary'>", ["Tom van Wick", "Mary Poole"]),
        ("<meta name=author content='[[author]]'>", []),
        (
            json_ld(
                '{"@type":"NewsArticle","author":{"@type":"Person","name":"Mary Poole"},'
                '"contributor":{"@type":"Person","name":"Tom Wick"}}'
            ),
            ["Mary Poole", "Tom Wick"],
        ),
    ],
)
def test_stated_authors(head: str, expected: list[str]) -> None:
    assert read(page(head)).authors == expected


@pytest.mark.parametrize(
    "name",
    [
        "millnews",
        "Redaktion Mill News",
        "The Mill News",
        "MILL NEWS",
        "La Rédaction",
        "Super User",
        "{{ author }}",
    ],
)
def test_the_site_its_office_and_a_default_account_are_no_authors(name: str) -> None:
    head = f"<meta name=author content='{name}'><meta property=og:site_name content='Mill News'>"
    assert read(page(head)).authors == []


@pytest.mark.parametrize("account", ["newsroom feed", "mpoole77", "News Desk"])
def test_a_byline_beats_an_account_and_the_site_is_no_author(account: str) -> None:
    head = f"<meta name=author content='{account}'><meta property=og:site_name content='Mill News'>"
    assert read(page(head, "<p class=byline>By Mary Poole, Mill News</p>" + TEXT)).authors == ["Mary Poole"]


@pytest.mark.parametrize("publisher", ["Rill Brothers", "Édition Nord"])
def test_the_author_of_the_article_comes_before_the_author_of_the_page(publisher: str) -> None:
    head = f"<meta name=author content='{publisher}'><meta property=article:author content='Mary Poole'>"
    assert read(page(head)).authors == ["Mary Poole"]


BOLD = "<p><b>Mary van der Poole</b></p>"


@pytest.mark.parametrize(
    ("site", "first", "expected"),
    [
        ("Mill News", BOLD, ["Mary van der Poole"]),
        ("Mill News", "<p><strong>Mary Poole</strong></p>", ["Mary Poole"]),
        ("Mill News", "<p><strong>What was said</strong></p>", []),
        ("Tom Wick", BOLD, ["Tom Wick"]),
    ],
)
def test_a_bold_name_before_the_text_counts_if_the_site_names_itself(
    site: str, first: str, expected: list[str]
) -> None:
    head = f"<meta name=author content='{site}'><meta property=og:site_name content='Mill News'>"
    assert read(page(head, first + TEXT)).authors == expected


@pytest.mark.parametrize("logo", ["<a href=/>Mill News</a>", "Mill News"])
@pytest.mark.parametrize("separator", [" - ", " | ", " — ", ": "])
def test_a_heading_that_is_the_logo(logo: str, separator: str) -> None:
    title = f"Mill race dug out by hand{separator}Mill News"
    body = f"<h2>Mill race dug out by hand</h2>{TEXT}"
    assert read(page(body=body, title=title, h1=logo)).title == "Mill race dug out by hand"


@pytest.mark.parametrize(
    "inside", ["<span>Rivers</span> {}", "<small>Rivers</small>{}", "{}<a href='#x'>¶</a>"]
)
def test_a_heading_with_the_name_of_its_section_or_a_link_to_itself(inside: str) -> None:
    headline = "Mill race dug out by hand"
    html = page(body=TEXT, title=f"{headline} | Mill News", h1=inside.format(headline))
    assert read(html).title == headline


@pytest.mark.parametrize(
    ("title", "h1", "below"),
    [
        ("Le Moulin : {}", "<a href=/>Le Moulin</a>", "<h2>{}</h2>"),
        ("Mill News » Rivers » {}", "<a href=/>Mill News</a>", "<h2>{}</h2>"),
        ("Mill News – from the river: {}", "Mill News – from the river", "<h3>{}</h3>"),
        ("{} – Rivers – Mill News", "<a href=/rivers>Rivers</a>", "<h2>{}</h2>"),
        ("{} – Rivers – Mill News", "Rivers", "<h3>{}</h3>"),
        ("{} ~ The Mill", "<a href=/>The Mill</a>", ""),
        ("{}｜水車新聞", "<a href=/>水車新聞</a>", "<p class=headline>{}</p>"),
        ("{{{{ article.title }}}}", "{}", ""),
        ("%%title%% | Mill News", "{}", ""),
        ("<?php the_title(); ?>", "{}", ""),
        ("News", "News", "<h2>{}</h2>"),
    ],
)
def test_a_heading_that_is_a_part_of_the_title_beside_the_headline(title: str, h1: str, below: str) -> None:
    headline = "Mill race dug out by hand"
    body = below.format(headline) + TEXT
    html = page(body=body, title=title.format(headline), h1=h1.format(headline))
    assert read(html).title == headline


@pytest.mark.parametrize(
    ("title", "h1", "below"),
    [
        ("{} | Comments | Mill News", "<a href=.>{}</a>", "<h2>Comments</h2>"),
        ("Four Hills Tournament | {}", "{}", "<h2>Four Hills Tournament</h2>"),
        ("Rivers: {} - News", "{}", "<h2>Rivers <span>{}</span></h2>"),
        ("{} - Opinion pages - Mill News", "{}", "<h2>Opinion pages</h2>"),
    ],
)
@pytest.mark.parametrize(
    "headline", ["Mill race dug out by hand on Sunday morning", "No mill race on the river"]
)
def test_a_headline_beside_a_smaller_heading(title: str, h1: str, below: str, headline: str) -> None:
    body = below.format(headline) + TEXT
    html = page(body=body, title=title.format(headline), h1=h1.format(headline))
    assert read(html).title == headline


def test_a_title_that_is_the_name_of_the_site() -> None:
    html = page(body=f"<a href=/>Mill News</a>{TEXT}", title="Mill News", h1="Mill race dug out by hand")
    assert read(html).title == "Mill race dug out by hand"


def test_a_chinese_title_with_its_section() -> None:
    html = page(title="旧港桥关闭一周_社会_港口新闻网", h1="")
    assert read(html).title == "旧港桥关闭一周"


def test_an_empty_heading() -> None:
    html = page(body=f"<h1></h1><h2>Mill race dug out by hand</h2>{TEXT}", title="", h1="")
    assert read(html).title == "Mill race dug out by hand"


@pytest.mark.parametrize(
    "head",
    [
        "<meta property=og:url content=www.example.org/news/mill-race-dug-out>",
        "<link rel=canonical href=www.example.org/news/mill-race-dug-out>",
        "<base href=https://www.example.org/news/><link rel=canonical href=mill-race-dug-out>",
        "<link rel=canonical href=https:/www.example.org/news/mill-race-dug-out>",
        "<link rel=canonical href='{{ url }}'><meta property=og:url content=/news/mill-race-dug-out>",
    ],
)
def test_stated_addresses(head: str) -> None:
    article = read(page(head), "https://www.example.org/news/x/mill-race-dug-out")
    assert article.canonical_url == "https://www.example.org/news/mill-race-dug-out"


@pytest.mark.parametrize("frame", ["{}", "<div>{}</div>", "<header>{}</header>"])
@pytest.mark.parametrize("body", ["<div class=prose>{}</div>", "{}", "<section>{}</section>"])
def test_the_heading_above_the_text_wins_over_a_title_for_search_engines(frame: str, body: str) -> None:
    own = f"{frame.format('<h1>Rain closes the lower road</h1>')}{body.format(TEXT)}"
    markup = f"<title>Weather today SEO | Mill News</title><body><div><main>{own}</main></div></body>"
    assert read(markup.encode()).title == "Rain closes the lower road"
