"""The date of an article is its own: no other date of the page is taken, and an unclear date is no date."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from newsbot.pages import extraction
from newsbot.pages.extraction.fields.moments import date_without_year, find_date, order_in, settled
from newsbot.pages.extraction.verdict import Witnesses
from tests.extraction_pages import PROSE, TEXT, page, read

NOW = datetime(2026, 11, 28, 13, tzinfo=UTC)
ADDRESS = "https://paper.example/news/mill-race-dug-out"
OWN = ("", "<p class=date></p>", "<p class=date>on the day of Saint Agnes</p>", "<time></time>")


OTHERS = [
    "<p>The works were approved on 4 April 2021 by the council after years of debate and of appeals.</p>",
    (
        "<p>Von einem Verein war der Bau <b>am 4. April 2021</b> verlangt worden, aber die Stadt "
        "hatte ihn erst nach langer Debatte beschlossen.</p>"
    ),
    "<p>Строительство было одобрено 4 апреля 2021 года после долгих споров в совете и жалоб жителей.</p>",
    "<div><a href=/q>Another thing happened in the upper town</a> <span>14 June 2020</span></div>",
    "<dl><dt>Start of works</dt><dd>12 May 2021</dd></dl>",
    "<table><tr><th>Approved</th><td>12 May 2021</td></tr></table>",
    "<div class=image><img src=/a.jpg><span>Archive photo, 12 May 2019</span></div>",
    "<p>昨日の2023年11月3日に橋が閉鎖された。</p>",
    "<p>2023年11月3日，大桥关闭了。</p>",
    "<p>2023년 11월 3일에 다리가 폐쇄됐다.</p>",
    "<p>The mill was opened on 3 May 2001.</p>",
    "<p>On 3 May 2021 the council voted for it.</p>",
    "<p>पुल 3 मई 2021 को खोला गया था।</p>",
    "<p>Мельница была построена 3 мая 2001 года.</p>",
    "<section class=most-read><div><a href=/x>Fish</a><b class=date>20.11.2023</b></div></section>",
]


@pytest.mark.parametrize("markup", OTHERS)
@pytest.mark.parametrize("first", [True, False])
def test_a_date_in_a_sentence_or_of_another_fact_is_not_that_of_the_article(markup: str, first: bool) -> None:
    body = f"{markup}{TEXT}" if first else f"{TEXT}{markup}"
    assert read(page(body=body)).published_at is None


_EXCERPT = (
    "<p>Fishers on both banks had asked for the weir to be moved, and this year the county gave in.</p>"
)
_CARD = "<div class=item><h3><a href=/q>A weir is moved</a></h3><span>14 June 2020</span>{0}</div>"
ELSEWHERE = {
    "a card with an excerpt": _CARD.format(_EXCERPT),
    "a card that is a link": (
        "<a class=item href=/q><i>14 June 2020 | 2 comments</i><h4>A weir was moved last night</h4></a>"
    ),
    "a list with equal markup": "".join(
        f"<li class=row><a href=/q{day}>Weir {day}</a><i class=date>{day} June 2020</i></li>"
        for day in (3, 4, 5)
    ),
    "a note between paragraphs": f"{TEXT}<p>Mill race, built 3 May 2001</p>{TEXT}",
    "a caption": "<div class=media><a><img src=/a.jpg></a><i>Men look into the race, 12 May 2019</i></div>",
    "a word of a sentence": "<div class=info>Sie sind hier: Start</div>",
    "a word of a name": "<div class=date>PAPER TODAY Network</div>",
    "a promise": "<p class=info>More news about the mill race today</p>",
}


@pytest.mark.parametrize("markup", ELSEWHERE.values(), ids=ELSEWHERE)
@pytest.mark.parametrize("first", [True, False])
def test_a_date_of_another_article_or_of_the_story_is_not_taken(markup: str, first: bool) -> None:
    body = f"{markup}{TEXT}" if first else f"{TEXT}{markup}"
    assert read(page(body=body)).published_at is None


@pytest.mark.parametrize(
    "line",
    [
        "Today",
        "Published yesterday",
        "Yesterday by Ann Lee",
        "Today, 10:04, Leeds",
        "Published on Yesterday",
        "By Jane Doe | Yesterday",
        "Politics • Yesterday",
        "Von Max Mustermann gestern",
    ],
)
def test_a_relative_day_alone_in_its_line_is_read(line: str) -> None:
    html = page(body=f"<div class=date>{line}</div>{TEXT}")
    article = extraction.read_page(html, ADDRESS, now=NOW, vouched=True)
    assert str(article.published_at)[:9] == "2026-11-2"


def test_three_dates_below_the_headline_may_have_equal_markup() -> None:
    lines = "".join(
        f"<li class=date>{line}</li>" for line in ("3 May 2024", "Updated 4 May 2024", "12 May 1999")
    )
    assert str(read(page(body=f"<ul class=line>{lines}</ul>{TEXT}")).published_at).startswith("2024-05-03")


@pytest.mark.parametrize(
    "line",
    [
        "Von Jonas Ebert am 3. Mai 2024.",
        "First published on 3 May 2024.",
        "2024年5月3日。",
        "3 May 2024, 10:04 a.m.",
    ],
)
def test_a_line_with_a_full_stop_is_not_always_a_sentence(line: str) -> None:
    assert str(read(page(body=f"<p>{line}</p>{TEXT}")).published_at).startswith("2024-05-03")


def test_points_between_the_numbers_of_a_date_with_the_month_first() -> None:
    assert str(read(page(body=f"<p class=date>04.27.2024</p>{TEXT}")).published_at).startswith("2024-04-27")


def test_a_date_line_at_the_start_of_a_sentence_counts() -> None:
    line = f"<p>OSLO, 3 May 2024 (NTB) – {PROSE[0]}</p>"
    assert str(read(page(body=line + TEXT)).published_at).startswith("2024-05-03")


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<div class=top><span>Saturday, 28 November 2026</span><nav><a href=/a>Town</a></nav></div>", ""),
        ("<header><a href=/>Paper</a> <time datetime=2026-11-28>28 November</time></header>", ""),
        ("<header><b>Paper</b> <span>Saturday, 28 November 2026</span></header>", ""),
        ("<div class=ticker><a href=/n/9>Ferry stuck on a sand bank</a> 27.11.2026 09:10</div>", ""),
        ("", "<ul><li><a href=/n/8>Ferry stuck on a sand bank</a> <time>19 November 2026</time></li></ul>"),
        ("", "<div class=nearby><h3><a href=/n/8>Ferry stuck on a sand bank</a></h3>19.11.2026, 10:00</div>"),
        ("", "<aside><h4>Weather</h4><span class=date>Sunday, 29 November 2026</span></aside>"),
        ("", "<p class=weather-box><b>29.11.2026</b> rain, 7 degrees</p>"),
        ("", "<figure><img src=a.jpg><figcaption>The mill on 3 May 2019</figcaption></figure>"),
        ("", "<p class=older>Earlier: <a href=/n/1>Mill race to be dug out again</a> (2 May 2024)</p>"),
        ("", "<blockquote class=twitter-tweet>So glad <a href=//t.example/1>May 2, 2024</a></blockquote>"),
        ("", "<ol class=comments><li>Ann <time datetime=2026-11-20T10:00Z>20 November</time></li></ol>"),
        ("", "<div id=kommentare><ul><li>Anna, 28.11.2026, 10:00: Schade.</ul></div>"),
        ("", "<section><h3>Комментарии (2)</h3><p>Анна, 28 ноября 2026 10:00: Жаль.</p></section>"),
        ("", "<div><h4>3 Reacties</h4><p>Jan, 28 november 2026: jammer.</p></div>"),
        ("", "<section class=comentarios><p>Ana, 28 de noviembre de 2026: Qué pena.</p></section>"),
        ("", "<footer>© Paper, 12 March 2025</footer>"),
        ("", "<div class=event><h3>Ball at the mill</h3><p>29 November 2026, 19:00</p></div>"),
        ("", "<div><div><a href=/n/6>Busfahrer streiken am Freitag</a> <span>3. Mai 2019</span></div></div>"),
        ("", "<div><div><a href=/n/6>公交司机星期五罢工</a> <span>2019年5月3日</span></div></div>"),
        ("", "<aside><a href=/n/4>新しい橋が完成しました</a><span class=date>2026年11月20日</span></aside>"),
    ],
)
def test_another_date_of_the_page_is_not_taken(own: str, before: str, after: str) -> None:
    body = f"{before}<main><article><h1>Mill race dug out</h1>{own}{TEXT}{after}</article></main>{after}"
    article = read(f"<html lang=en><body>{body}</body></html>".encode(), ADDRESS, now=NOW)
    assert article.published_at is None, article.extraction


@pytest.mark.parametrize(
    "frame", ["<header>{}</header>{}", "<div class=head>{}</div><div class=body>{}</div>"]
)
@pytest.mark.parametrize(
    "start",
    [
        "<figure><img src=/a.jpg><figcaption>The mill, 3 May 2019</figcaption></figure>",
        "<p>水磨坊的沟渠将再次挖掘，镇议会决定这样做（2019年5月3日）。</p>",
    ],
)
def test_a_date_at_the_start_of_the_text_is_not_beside_the_headline(start: str, frame: str) -> None:
    markup = frame.format("<h1>Mill race dug out</h1>", f"{start}{TEXT}")
    article = read(f"<title>Mill race dug out</title><body><main>{markup}</main>".encode(), ADDRESS, now=NOW)
    assert article.published_at is None, article.extraction


@pytest.mark.parametrize(
    "line",
    [
        "<h6><a href=/autor/ana-lopez_7><b>Ana López</b></a> <span>3/12/2023 22:41</span></h6>",
        "<div>Saved by human on 3 May 2024<a href=/comment/reply/8#form>Add a new comment here</a></div>",
        "<div><a href='#order'>How to order this report</a><span>5 November 2021</span></div>",
        "<p><a href=/people/jd>Jane Doe and Jonathan Roe-Mill</a> 5 November 2021</p>",
    ],
)
def test_links_that_are_no_headlines_may_be_beside_the_date(line: str) -> None:
    markup = f"<html lang=es><body><main><h1>Mill race dug out</h1>{line}{TEXT}</main></body></html>"
    assert read(markup.encode(), "https://paper.example.bo/n/7", now=NOW).published_at is not None


@pytest.mark.parametrize("logo", ["<h1><a href=/>Mill Paper</a></h1>", "<h1>Mill Paper</h1>", ""])
@pytest.mark.parametrize("tag", ["h2", "h3"])
@pytest.mark.parametrize("address", [ADDRESS, "https://paper.example/2026/11/19/mill-race-dug-out"])
def test_a_smaller_heading_is_the_headline_if_it_is_the_title(logo: str, tag: str, address: str) -> None:
    head = "<title>Mill race dug out – Mill Paper</title>"
    teaser = f"<{tag}><a href=/n/8>Ferry stuck on a sand bank</a></{tag}><i>21 Nov 2026</i>"
    line = "<section><ul><li><i class=icon></i> 19 Nov 2026<li><a href=/sport>Sport</a></ul></section>"
    own = f"<header><{tag}><a href=''>Mill race dug out</a></{tag}></header>{line}<section>{TEXT}</section>"
    html = f"<html lang=en>{head}<body>{logo}<article>{own}</article><div>{teaser}</div></body></html>"
    article = read(html.encode(), address, now=NOW)
    assert article.title == "Mill race dug out"
    assert article.published_at == datetime(2026, 11, 19, tzinfo=UTC)
    assert article.extraction["published_at"].startswith("visible"), "the address alone is no evidence"


@pytest.mark.parametrize(
    ("markup", "language", "expected"),
    [
        ("<p class=date>۱۴۰۴/۰۲/۱۱ ۱۸:۳۰</p>", "fa", "2025-05-01 18:30"),
        ("<p class=date>11 ثور 1404</p>", "fa", "2025-05-01 00:00"),
        ("<p class=date>१८ बैशाख २०८२</p>", "ne", "2025-05-01 00:00"),
        ("<p class=date>1 พ.ค. 68 18:30 น.</p>", "th", "2025-05-01 18:30"),
        ("<p class=date>1/5/2568</p>", "th", "2025-05-01 00:00"),
        ("<p class=date>令和7年5月1日 18時30分</p>", "ja", "2025-05-01 18:30"),
        ("<p class=date>114/05/01 18:30</p>", "zh-TW", "2025-05-01 18:30"),
        ("<p class=date>25.05.01 18:30</p>", "ko", "2025-05-01 18:30"),
        ("<p class=date>1 мая, 18:30</p>", "ru", "2026-05-01 18:30"),
        ("<p class=date>12月1日 18:30</p>", "ja", "2025-12-01 18:30"),
        ("<p class=date>1-May-25</p>", "en", "2025-05-01 00:00"),
        ("<p class=date>Thursday 5/1/25</p>", "en", "2025-05-01 00:00"),
        ("<p class=date>5/1/2025 6:30 PM</p>", "en", "2025-05-01 18:30"),
        ("<p class=date>01-05-2025</p>", "it", "2025-05-01 00:00"),
        ("<p>Received 2 March 2025 · Posted 1 May 2025</p>", "en", "2025-05-01 00:00"),
        ("<p class=date>二〇二五年五月一日</p>", "zh", "2025-05-01 00:00"),
        ("<p class=date>二零二五年十二月三十一日</p>", "zh", "2025-12-31 00:00"),
        ("<p class=date>令和七年五月二十一日</p>", "ja", "2025-05-21 00:00"),
        ("<p class=date>中華民國一百一十四年五月一日</p>", "zh-TW", "2025-05-01 00:00"),
        ("<p class=date>R7.5.21</p>", "ja", "2025-05-21 00:00"),
        ("<p class=date>令和7年（2025年）5月21日</p>", "ja", "2025-05-21 00:00"),
        ("<p class=date>2025年（令和7年）5月21日 18:30</p>", "ja", "2025-05-21 18:30"),
        ("<p class=date>H31.4.30</p>", "ja", "2019-04-30 00:00"),
        ("<p class=date>2025ko maiatzaren 1a</p>", "eu", "2025-05-01 00:00"),
        ("<p class=date>۱۱ غویی ۱۴۰۴</p>", "ps", "2025-05-01 00:00"),
        ("<p class=date>更新：2025年5月2日　公開：2025年5月1日</p>", "ja", "2025-05-01 00:00"),
        (
            "<p class=date>更新时间：2025-05-02 08:00　发布时间：2025-05-01 18:30</p>",
            "zh",
            "2025-05-01 18:30",
        ),
        ("<p class=date>Güncelleme: 02.05.2025 Yayınlanma: 01.05.2025</p>", "tr", "2025-05-01 00:00"),
        ("<p class=date>Aktualizacja: 2 maja 2025 Publikacja: 1 maja 2025</p>", "pl", "2025-05-01 00:00"),
        ("<p class=date>آخر تحديث: 02/05/2025 - تاريخ النشر: 01/05/2025</p>", "ar", "2025-05-01 00:00"),
    ],
)
def test_dates_of_each_country(markup: str, language: str, expected: str) -> None:
    html = page(body=markup + TEXT).replace(b"<html", f"<html lang={language}".encode())
    article = read(html, ADDRESS, now=NOW)
    assert article.published_at is not None
    assert article.published_at.strftime("%Y-%m-%d %H:%M") == expected


def test_a_date_with_two_readings_is_no_date() -> None:
    html = page(body="<p class=date>05/01/2018</p>" + TEXT)
    article = read(html, ADDRESS, now=NOW)
    assert (article.published_at, article.published_precision) == (None, None)
    assert article.extraction["published_at"] == "visible+unclear: 2018-01-05 or 2018-05-01"
    british = read(html, "https://paper.co.uk/news/mill", now=NOW)
    assert british.published_at == datetime(2018, 1, 5, tzinfo=UTC)
    # another date of the page shows the order
    american = read(html.replace(b"</article>", b"<i>Seen 4/23/2018</i></article>"), ADDRESS, now=NOW)
    assert american.published_at == datetime(2018, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("others", "day"),
    [
        (("27/05/2018", "03/04/2018"), "2018-01-05"),
        (("5/27/2018",), "2018-05-01"),
        (("Sunday 4/1/2018",), "2018-05-01"),
        (("27/05/2018", "5/27/2018"), None),
        (("27 May 2018",), None),
    ],
)
def test_the_order_of_day_and_month_comes_from_other_articles_of_the_site(
    others: tuple[str, ...], day: str | None
) -> None:
    witnesses = Witnesses()
    for date in others:
        reading = extraction.read(page(body=f"<p class=date>{date}</p>{TEXT}"), ADDRESS, now=NOW)
        assert reading.evidence is not None
        witnesses.add(reading.evidence)
    witnesses = Witnesses.read(json.loads(json.dumps(witnesses.plain())))
    html = page(body="<p class=date>05/01/2018</p>" + TEXT)
    article = extraction.read(html, ADDRESS, now=NOW, witnesses=witnesses).article
    assert article is not None
    assert (article.published_at and str(article.published_at.date())) == day


def test_stated_days_that_contradict_each_other() -> None:
    head = (
        "<meta property=article:published_time content=2025-03-02T10:00:00Z>"
        '<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2025-05-01T10:00:00Z"}'
        "</script>"
    )
    seen = read(page(head, "<p class=date>2 March 2025</p>" + TEXT), ADDRESS, now=NOW)
    assert seen.published_at == datetime(2025, 3, 2, 10, tzinfo=UTC)
    unseen = read(page(head), ADDRESS, now=NOW)
    assert unseen.published_precision == "day"
    assert unseen.extraction["published_at"] == "json-ld+disputed"


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("1 May 2025 18:30 Asia/Kolkata", 5.5),
        ("1 May 2025 18:30+5:30", 5.5),
        ("May 1, 2025 6:30 PM Eastern Daylight Time", -4),
        ("1 May 2025 18:30 EDT", -4),
        ("1. Mai 2025, 18:30 Uhr MESZ", 2),
        ("1 mei 2025 18:30 uur CEST", 2),
        ("1 mai 2025, 18 h 30 HAE", -4),
    ],
)
def test_zones_by_name(text: str, offset: float) -> None:
    found = find_date(text)
    assert found is not None
    assert found.zone is not None
    ahead = found.zone.utcoffset(None)
    assert ahead is not None
    assert ahead.total_seconds() == offset * 3600


@pytest.mark.parametrize(
    ("head", "address", "language", "expected", "note"),
    [
        ("", "https://www.paper.co.jp/n/1", "ja", "2025-05-01T18:30:00+09:00", "visible+country-zone"),
        ("", "https://paper.example/n/1", "de-DE", "2025-05-01T18:30:00+02:00", "visible+country-zone"),
        ("", "https://paper.example/n/1", "de", "2025-05-01T18:30:00+00:00", "visible+assumed-utc"),
        ("", "https://www.paper.us/n/1", "de", "2025-05-01T18:30:00+00:00", "visible+assumed-utc"),
        (
            "<meta property=article:modified_time content=2025-05-01T20:00:00+05:00>",
            "https://paper.example/n/1",
            "de",
            "2025-05-01T18:30:00+05:00",
            "visible+page-zone",
        ),
    ],
)
def test_the_zone_of_a_time_without_a_zone(
    head: str, address: str, language: str, expected: str, note: str
) -> None:
    html = page(head, "<p class=date>2025-05-01 18:30</p>" + TEXT)
    article = read(html.replace(b"<html", f"<html lang={language}".encode()), address, now=NOW)
    assert article.published_at is not None
    assert (article.published_at.isoformat(), article.extraction["published_at"]) == (expected, note)


def test_dates_without_a_year_and_the_order_of_other_dates() -> None:
    found = date_without_year("Thu, 27 November · 10:04")
    assert found is not None
    last = settled(found, NOW)
    assert last is not None
    assert last.local == datetime(2026, 11, 27, 10, 4)
    later = date_without_year("29 ноября, 20:04")  # nowhere on earth before NOW
    assert later is not None
    assert (last := settled(later, NOW)) is not None
    assert last.local == datetime(2025, 11, 29, 20, 4)
    assert date_without_year("The mill opens on 27 November") is None
    assert order_in(["5/27/2018", "27/5/2018"]) is None


@pytest.mark.parametrize(
    "line",
    [
        "<img src=/a.jpg><div>By Jane Doe, our reporter in the town, May 3, 2024</div>",
        f"{TEXT}<p>May 3, 2024</p>",
    ],
)
def test_a_byline_beside_a_portrait_and_a_date_above_a_note_about_the_author_count(line: str) -> None:
    note = "Jane Doe has written about the county for thirty years, and keeps bees on the roof of the mill."
    found = read(page(body=f"{line}{TEXT if 'img' in line else ''}<p>{note}</p>"))
    assert str(found.published_at).startswith("2024-05-03")
