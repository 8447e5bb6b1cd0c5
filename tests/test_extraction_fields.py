"""Titles, authors, languages, clean text: the readers of single fields."""

from __future__ import annotations

import pytest

from newsbot.pages.extraction.body.furniture import tidy, trim_edges
from newsbot.pages.extraction.fields.authors import clean_authors
from newsbot.pages.extraction.fields.details import clean_tags
from newsbot.pages.extraction.fields.titles import clean_title
from newsbot.pages.extraction.visible import Block
from newsbot.pages.text.languages import detect, normal_code
from newsbot.pages.text.words import key
from tests.extraction_pages import PROSE, TEXT, json_ld, page, read, saved


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("By Jane Doe", ["Jane Doe"]),
        ("by Jane Doe and John Roe", ["Jane Doe", "John Roe"]),
        ("Jane Doe, John Roe; Ann Lee", ["Jane Doe", "John Roe", "Ann Lee"]),
        ("Von Karin Vogt und Uwe Berg", ["Karin Vogt", "Uwe Berg"]),
        ("Автор: Иван Петров", ["Иван Петров"]),
        ("Иван Петров и Анна Сидорова", ["Иван Петров", "Анна Сидорова"]),
        ("Par Luc Morel et Anne Roux", ["Luc Morel", "Anne Roux"]),
        ("https://www.facebook.com/janedoe", []),
        ("Jane Doe (Reuters)", ["Jane Doe"]),
        ("Jane Doe | 3 May 2024", ["Jane Doe"]),
        ("Jane Doe, jane@example.org", ["Jane Doe"]),
        ("admin", []),
        ("3 May 2024", []),
        ("", []),
        ("<a href='/x'>Jane Doe</a>", ["Jane Doe"]),
        ("Jane Doe &amp;amp; John Roe", ["Jane Doe", "John Roe"]),
    ],
)
def test_names(written: str, names: list[str]) -> None:
    assert clean_authors([written]) == names


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Jane Doe, Staff Writer", ["Jane Doe"]),
        ("Staff Writer", ["Staff Writer"]),
        ("Web Desk", ["Web Desk"]),
        ("By Jane Doe Senior Political Correspondent", ["Jane Doe"]),
        ("Reporting by Jane Doe; Editing by John Roe", ["Jane Doe"]),
        ("By Jane Doe For The Daily News", ["Jane Doe"]),
        ("Jane Doe - jane@example.org", ["Jane Doe"]),
        ("Jane Doe on May 3, 2024", ["Jane Doe"]),
        ("Jane Doe am Samstag", ["Jane Doe"]),
        ("Mary E Smith", ["Mary E Smith"]),
        ("Ana Silva e Rui Costa", ["Ana Silva", "Rui Costa"]),
        ("Jane Doe Jr.", ["Jane Doe Jr."]),
        ("Jane Doe, MD", ["Jane Doe"]),
        ("View all posts by Jane Doe", ["Jane Doe"]),
        ("Propos recueillis par Luc Morel", ["Luc Morel"]),
        ("Skrevet av Ola Nordmann", ["Ola Nordmann"]),
        ("Eine Analyse von Jane Doe", ["Jane Doe"]),
        ("Γράφει ο Γιώργος Παπάς", ["Γιώργος Παπάς"]),
        ("بقلم: أحمد علي", ["أحمد علي"]),
        ("本报记者 张三", ["张三"]),
        ("김철수 기자", ["김철수"]),
        ("Jane Doe | Senior Political Correspondent", ["Jane Doe"]),
        ("Jane Doe, John Roe, and Ann Lee", ["Jane Doe", "John Roe", "Ann Lee"]),
        ("By Jane Doe in London and John Roe in New York", ["Jane Doe", "John Roe"]),
        ("Posted on May 3, 2024 by Jane Doe", ["Jane Doe"]),
        ("Jane Doe, M.D.", ["Jane Doe"]),
        ("Text &amp; Fotos: Karin Vogt", ["Karin Vogt"]),
        ("Tekst: Kari Nordmann Foto: Ola Nordmann", ["Kari Nordmann"]),
        ("Текст: Иван Петров. Фото: Анна Сидорова", ["Иван Петров"]),
        ("Іван Петренко і Марія Сидоренко", ["Іван Петренко", "Марія Сидоренко"]),
        ("Jana Nováková a Petr Dvořák", ["Jana Nováková", "Petr Dvořák"]),
        ("Γιάννης Παπάς και Μαρία Ιωάννου", ["Γιάννης Παπάς", "Μαρία Ιωάννου"]),
        ("(서울=연합뉴스) 김철수 기자", ["김철수"]),
        ("文：山田太郎", ["山田太郎"]),
        ("Haber: Ahmet Yılmaz", ["Ahmet Yılmaz"]),
        ("La Redazione", []),
        ("null null", []),
        ("/author/jane-doe", []),
    ],
)
def test_text_around_names_is_removed(written: str, names: list[str]) -> None:
    assert clean_authors([written]) == names


def test_duplicate_names_are_removed() -> None:
    assert clean_authors(["Jane Doe", "By JANE DOE", "John Roe"]) == ["Jane Doe", "John Roe"]


@pytest.mark.parametrize(
    ("author", "names"),
    [
        ('{"@type":"Person","name":"Jane Doe"}', ["Jane Doe"]),
        ('[{"@type":"Person","name":"Jane Doe"},"John Roe"]', ["Jane Doe", "John Roe"]),
        ('{"@type":"Person","givenName":"Jane","familyName":"Doe"}', ["Jane Doe"]),
        ('{"@type":"Organization","name":"Press Office"}', ["Press Office"]),
        (
            '[{"@type":"Organization","name":"Press Office"},{"@type":"Person","name":"Jane Doe"}]',
            ["Jane Doe", "Press Office"],
        ),
        ('{"name":["Jane Doe","John Roe"]}', ["Jane Doe", "John Roe"]),
    ],
)
def test_authors_of_json_ld(author: str, names: list[str]) -> None:
    html = page(json_ld(f'{{"@type":"NewsArticle","headline":"x","author":{author}}}'))
    assert read(html).authors == names


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("下城区被水淹没-每日新闻", "下城区被水淹没"),
        ("下城区被水淹没_中国新闻网", "下城区被水淹没"),
        ("他的梦想——互联网", "他的梦想——互联网"),
        ("中国-欧盟", "中国-欧盟"),
        ("Dambruch-news", "Dambruch-news"),
    ],
)
def test_site_names_after_a_dash_without_spaces(title: str, expected: str) -> None:
    assert clean_title(title, [key("每日新闻"), "news"]) == expected


def test_an_author_that_another_node_names() -> None:
    graph = (
        '{"@graph":[{"@type":"NewsArticle","headline":"x","author":{"@type":"Person","@id":"#p","url":"/p"}},'
        '{"@type":"Person","@id":"#p","name":"Jane Doe"}]}'
    )
    assert read(page(json_ld(graph))).authors == ["Jane Doe"]


def test_authors_of_teasers_are_ignored() -> None:
    other = '{"@type":"NewsArticle","headline":"Snow in the hills","url":"%s","author":"A B"}'
    assert read(page(json_ld(other % "https://www.example.org/snow"))).authors == []
    longer = other.replace("Snow in the hills", "Rain closes the lower road at noon")
    assert read(page(json_ld(longer % "https://www.example.org/rain-again"))).authors == ["A B"]


def test_sources_of_authors() -> None:
    assert read(page('<meta name="author" content="Jane Doe">')).extraction["authors"] == "meta"
    assert read(page('<meta property="article:author" content="https://fb.com/x">')).authors == []
    visible = read(page(body=f"<div class=byline>By Jane Doe</div>{TEXT}"))
    assert (visible.authors, visible.extraction["authors"]) == (["Jane Doe"], "visible")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Rain in May - The Daily News", "Rain in May"),
        ("The Daily News | Rain in May", "Rain in May"),
        ("Rain in May | Weather | Daily News", "Rain in May | Weather"),
        ("Rain - and snow - in May", "Rain - and snow - in May"),
        ("Rain in May :: dailynews.com", "Rain in May"),
        ("The Daily News: Rain in May", "Rain in May"),
        ("Rain in May｜Daily News", "Rain in May"),
        ("Rain in May - Daily News, 03.05.2024", "Rain in May"),
        ("News: Rain in May", "News: Rain in May"),
        ("Black &amp;amp; white", "Black & white"),
        ("Daily News", "Daily News"),
    ],
)
def test_the_site_name_is_removed_from_titles(title: str, expected: str) -> None:
    assert clean_title(title, ["the daily news", "dailynews", "dailynews com"]) == expected


@pytest.mark.parametrize(
    ("tail", "host"),
    [
        (" — RT World News", "www.rt.example"),
        (" - BBC News", "www.bbc.co.uk"),
        (" – DW – 05/03/2024", "www.dw.com"),
        (" - The New York Times", "www.nytimes.com"),
        (" - Los Angeles Times", "www.latimes.com"),
        (" - WSJ", "www.wsj.com"),
        (" – Frankfurter Allgemeine Zeitung", "www.faz.net"),
        (" - МК", "www.mk.ru"),
        (" — Фонтанка", "www.fontanka.ru"),
        (": Lenta.ru", "lenta.ru"),
        (" ‹ Example", "www.example.org"),
        (" - Page 2 - Example", "www.example.org"),
    ],
)
def test_the_site_name_is_recognised_by_the_host(tail: str, host: str) -> None:
    html = page(title=f"Rain closes the lower road{tail}", h1="")
    assert read(html, f"https://{host}/2024/some-story-here").title == "Rain closes the lower road"


@pytest.mark.parametrize(
    "title", ["Iran - Iraq war: what is known", "How to write a server - Node.js", "Bush, Blair and cars"]
)
def test_headlines_that_only_seem_to_contain_a_site_name(title: str) -> None:
    assert read(page(title=title, h1=""), "https://www.bbc.com/2024/some-story").title == title


def test_endless_abbreviations() -> None:
    assert clean_title("Rain | " + "aaa " * 14 + "b", ["a" * 20]).startswith("Rain | a")


def test_the_headline_with_the_most_evidence_is_chosen() -> None:
    head = '<meta property="og:title" content="Rain closes the lower road: Example">'
    head += '<meta name="twitter:title" content="Wet!">'
    assert read(page(head, h1="Rain closes the lower road")).title == "Rain closes the lower road"


LOGO = "<header><h1>{logo}</h1></header><a href=/>Daily Courier</a>"


@pytest.mark.parametrize("logo", ["Daily Courier", "<a href=/><img src=/l.png alt='Daily Courier'></a>"])
@pytest.mark.parametrize(
    "title",
    [
        "{}: Daily Courier", "{} — Daily Courier", "Daily Courier » {}", "{} / Daily Courier",
        "{} · Town · Daily Courier", "{}", "Daily Courier: {}",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "headline",
    ["<div>{}</div>", "<p class=t><b>{}</b></p>", "<font size=5>{}</font>", "<h4>{}</h4>", "<h2>{}</h2>"],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_logo_is_not_the_headline(logo: str, title: str, headline: str, is_first: bool) -> None:
    name = "Rain closes the lower road"
    parts = [LOGO.format(logo=logo), f"<article>{headline.format(name)}<i>3 May 2024</i>{TEXT}</article>"]
    body = "".join(parts if is_first else parts[::-1])
    article = read(page(title=title.format(name), body=body, h1=""))
    assert article.title == name
    assert str(article.published_at).startswith("2024-05-03")


def test_the_name_of_a_section_in_the_only_large_heading_is_not_the_headline() -> None:
    body = f"<h1>Local news</h1><article><div>Rain closes the lower road</div>{TEXT}</article>"
    title = "Rain closes the lower road - Local news - Daily Courier"
    assert read(page(title=title, body=body, h1="")).title == "Rain closes the lower road"


def test_a_marked_headline_without_a_heading() -> None:
    body = f"<a href=/>Daily Courier</a><div class=entry-title>Rain closes the lower road</div>{TEXT}"
    assert read(page(title="Daily Courier", body=body, h1="")).title == "Rain closes the lower road"


@pytest.mark.parametrize("markup", ["h1", "h1 class=entry-title"])
@pytest.mark.parametrize("headline", ["Nobody had warned the bakers", "Drenched"])
def test_the_heading_above_the_text_is_preferred_to_another_title_of_the_metadata(
    markup: str, headline: str
) -> None:
    stated = "Flood 2024: closed streets, detours and forecast"
    head = f"<meta property=og:title content='{stated}'><meta name=twitter:title content='{stated}'>"
    body = f"<{markup}>{headline}</h1>{TEXT}"
    title = read(page(head, body, title=f"{stated} | Daily Courier", h1="")).title
    assert title == (headline if " " in headline or "class" in markup else stated)


def test_the_heading_above_a_text_without_spaces_is_preferred_too() -> None:
    text = "".join(f"<p>{part}</p>" for part in ("川は夜のうちに増水し、朝には下の道が閉鎖された。",) * 4)
    html = f"<title>下の道が雨で閉鎖</title><article><h1>警告されなかったパン屋たち</h1>{text}</article>"
    assert read(html.encode()).title == "警告されなかったパン屋たち"


def test_a_heading_of_other_content_is_not_the_headline() -> None:
    html = page(title="Rain closes the lower road | Example", h1="Latest news")
    assert read(html).title == "Rain closes the lower road"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (" ".join(PROSE), "en"),
        (
            "Der Stadtrat hat am Mittwoch den Bau eines neuen Freibads beschlossen, und es soll öffnen.",
            "de",
        ),
        (
            "Le maire a dit que la rivière ne sera pas fermée, et que les enfants vont à l'école.",
            "fr",
        ),
        (
            "В пятницу утром на линию вышел первый трамвай, он будет ходить от вокзала до порта.",
            "ru",
        ),
        (
            "У п'ятницю вранці на лінію вийшов перший трамвай, він ходитиме від вокзалу до порту щодня.",
            "uk",
        ),
        (
            "У пятніцу раніцай на лінію выйшаў першы трамвай, ён будзе хадзіць ад вакзала да порта.",
            "be",
        ),
        (
            "В петък сутринта на линията излезе първият трамвай, който ще се движи от гарата.",
            "bg",
        ),
        ("Yağmur alt yolu kapattı ve kimse yaralanmadı, dedi belediye başkanı.", "tr"),
        ("Déšť uzavřel dolní silnici a nikdo nebyl zraněn, řekl starosta.", "cs"),
        ("Ploaia a închis drumul de jos și nimeni nu a fost rănit, a spus primarul.", "ro"),
        ("Lietus slēdza apakšējo ceļu, un neviens netika ievainots, sacīja mērs.", "lv"),
        ("Yağış aşağı yolu bağladı və heç kim xəsarət almadı, dedi mer.", "az"),
        ("Дождот го затвори долниот пат и никој не е повреден, рече градоначалникот.", "mk"),
        ("Ο δήμαρχος είπε ότι ο δρόμος θα ανοίξει αύριο.", "el"),
        ("市長は道路が明日開通すると述べました。", "ja"),
        ("市长表示道路将于明天开放，居民不必担心。", "zh"),
        ("시장은 도로가 내일 열릴 것이라고 말했다.", "ko"),
        ("قال رئيس البلدية إن الطريق سيفتح غدا بعد أن توقف المطر في المدينة", "ar"),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert detect(text) == language
    assert detect(text, "en" if language != "en" else "ru") == language


def test_the_declared_language_is_used_if_the_text_is_ambiguous() -> None:
    assert detect("12 : 3", "pt_BR") == "pt"
    assert detect("12 : 3") is None
    assert detect("", "uk-UA") == "uk"
    assert normal_code("iw") == "he"
    assert normal_code("!!") is None


@pytest.mark.parametrize(
    "text",
    [
        "ଓଡ଼ିଶା ସରକାର " * 10,
        "አማርኛ ጽሑፍ " * 10,
        "ＢＲＥＡＫＩＮＧ ＮＥＷＳ " * 10,
        "𝐁𝐫𝐞𝐚𝐤𝐢𝐧𝐠 " * 10,
        "ªº々µ" * 10,
        "བོད་ཡིག " * 10,
    ],
)
def test_the_stated_language_is_used_for_unknown_scripts(text: str) -> None:
    assert detect(text) is None
    assert detect(text, "or-IN") == "or"
    assert detect(text + "the prime minister said that the government will not " * 20) == "en"


def test_a_wrong_declared_language_is_ignored() -> None:
    html = saved("news_ru_plain.html").replace(b"<html>", b'<html lang="en">')
    article = read(html)
    assert (article.language, article.extraction["language"]) == ("ru", "text")


@pytest.mark.parametrize(
    "line",
    [
        "Read also: The last days of the ferry",
        "Читайте также: Мост закроют на ремонт",
        "Lesen Sie auch: Das neue Freibad",
        "Advertisement",
        "РЕКЛАМА",
        "Subscribe to our newsletter",
        "Подписывайтесь на наш канал в Телеграме",
        "Photo: Ann Lee / Example",
        "Фото: Анна Ли",
        "© 2024 Example. All rights reserved.",
    ],
)
def test_lines_that_are_not_part_of_the_text(line: str) -> None:
    kept = Block("paragraph", PROSE[0])
    assert tidy([kept, Block("paragraph", line), kept]) == [kept, kept]


@pytest.mark.parametrize(
    "line",
    [
        "Read also the small print, he told them, for it says more than the large one.",
        "Photography was forbidden in the hall, and the guards took away two cameras.",
        "Реклама, по словам министра, должна остаться, но её станет меньше на десять процентов.",
        PROSE[0],
    ],
)
def test_sentences_that_only_begin_like_such_lines_are_kept(line: str) -> None:
    blocks = [Block("paragraph", line)]
    assert tidy(blocks) == blocks


@pytest.mark.parametrize(
    "line",
    [
        *("By Jane Doe", "Von Jane Doe", "Автор: Jane Doe", "Par Jane Doe", "Jane Doe"),
        *("By Jane Doe, Saltmarsh Courier", "Jane Doe, Political Editor", "Jane Doe in Dover"),
        *("4 мая, 14:05", "Mon 4 May, 2:05 pm"),
    ],
)
def test_a_byline_or_date_at_the_start_is_removed_in_each_language(line: str) -> None:
    blocks = [Block("paragraph", text) for text in (line, *PROSE)]
    assert [block.text for block in trim_edges(blocks, "Rain in May", ["Jane Doe"])] == PROSE


@pytest.mark.parametrize(
    "line",
    [
        *(
            "Jane Doe, mayor of Dover, has resigned",
            "By Jane Doe, the council was late.",
            "Jane Doe wins the cup",
        ),
        *(
            "By Jane Doe’s account, the dam was safe",
            "Saltmarsh Courier",
            "4 May, 14:05: the ferry leaves Dover",
        ),
    ],
)
def test_a_first_line_about_the_author_is_kept(line: str) -> None:
    blocks = [Block("paragraph", text) for text in (line, *PROSE)]
    assert trim_edges(blocks, "Rain in May", ["Jane Doe"]) == blocks


def test_lines_at_the_edges_are_removed() -> None:
    lines = ["Rain in May", "By Jane Doe", "3 May 2024, 14:05", *PROSE, "Jane Doe"]
    blocks = [Block("paragraph", line) for line in lines]
    assert [block.text for block in trim_edges(blocks, "Rain in May", ["Jane Doe"])] == PROSE
    assert trim_edges(blocks[:1], "Rain in May", []) == blocks[:1]


def test_a_paragraph_that_is_a_link_is_removed() -> None:
    pointer = "<p><b>More:</b> <a href='/x'>The last days of the ferry at Saltmarsh harbour</a></p>"
    inside = (
        "<p>The mayor <a href='/y'>said on Sunday</a> that the dam would hold until the end of the week.</p>"
    )
    text = read(page(body=TEXT + pointer + inside + TEXT.replace("The", "A"))).text
    assert "last days" not in text
    assert "said on Sunday" in text


def test_captions_menus_and_forms_are_not_text() -> None:
    extras = (
        "<figure><img src=x><figcaption>The dam at noon, seen from the mill.</figcaption></figure>"
        "<form><input name=q><button>Search the whole archive of the paper</button></form>"
        "<nav><a href=/>Home</a> <a href=/news>News</a></nav>"
    )
    assert read(page(body=extras + TEXT)).text.splitlines() == PROSE


def test_tags() -> None:
    assert clean_tags(["rain, floods ,Rain", "#dam", "type:article", "x" * 99]) == ["rain", "floods", "dam"]


@pytest.mark.parametrize(
    ("markup", "names"),
    [
        ("<ul><li><strong>Autorin/Autor</strong> Roman Beispiel</li></ul>", ["Roman Beispiel"]),
        ("<div>(责编：牛镛、岳弘彬)</div>", ["牛镛", "岳弘彬"]),
        (
            "<p>Von: <span><a href=/x>Bill MUSTER</a>, </span><span>Mara PROBE</span></p>",
            ["Bill MUSTER", "Mara PROBE"],
        ),
        ("<p>By Jane Doe</p>", ["Jane Doe"]),
        ("<p>By Friday the water had gone down again.</p>", []),
        ("<aside><p>By Jane Doe</p></aside>", []),
    ],
)
def test_names_after_a_label(markup: str, names: list[str]) -> None:
    assert read(page(body=TEXT + markup)).authors == names


def test_a_page_with_a_sidebar_class_is_not_a_sidebar() -> None:
    html = page(body="<span class=byline>By Jane Doe</span>" + TEXT)
    assert read(html.replace(b"<body>", b"<body class=right-sidebar>")).authors == ["Jane Doe"]


def test_the_byline_is_preferred_to_the_site_name() -> None:
    head = "<meta name=author content='Daily Rain NEWS'><meta property=og:site_name content='Daily Rain'>"
    assert read(page(head, "<span class=byline>By Jane Doe</span>" + TEXT)).authors == ["Jane Doe"]


@pytest.mark.parametrize("mark", ["style='text-align: right'", "align=right"])
def test_a_name_at_the_end_of_the_text(mark: str) -> None:
    head = "<meta name=author content='Example News'><meta property=og:site_name content='Example News'>"
    assert read(page(head, f"{TEXT}<p {mark}><b>Lê Phương</b></p>")).authors == ["Lê Phương"]
    assert read(page(head, f"{TEXT}<p {mark}>It rained again.</p>")).authors == []


def test_a_site_name_with_the_initials_of_the_host_is_not_an_author() -> None:
    head = "<meta name=author content='Deutsche Welle'>"
    html = page(head, f"<span class=byline>Von Jane Doe</span>{TEXT}")
    assert read(html, "https://www.dw.com/de/regen/a-654").authors == ["Jane Doe"]


def test_text_of_a_line_with_a_script_keeps_its_order() -> None:
    heading = "<h1>Rain <i>closes <b>the lower</b> road</i> again<script>x()</script></h1>"
    assert read(page(body=heading + TEXT, title="", h1="")).title == "Rain closes the lower road again"


def test_headings_for_search_engines_and_lines_below_the_headline() -> None:
    shared = "<meta property=og:title content='Mayor walks along the dam as the water rises'>"
    trail = "<h1 class=breadcrumb-title>Rain closes the lower road</h1>"
    assert read(page(shared, trail + TEXT, h1="")).title == "Mayor walks along the dam as the water rises"
    lines = (
        "<h1>Rain closes the lower road<br><small>A second wave is near</small> <i>03.05.24 12:01</i></h1>"
    )
    assert read(page("", lines + TEXT, h1="")).title == "Rain closes the lower road"
