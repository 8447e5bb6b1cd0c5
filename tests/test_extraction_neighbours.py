"""Other articles and notices beside the page's own article, and the language that a page states."""

from __future__ import annotations

import pytest

from tests.extraction_pages import PROSE, TEXT, page, read

OTHER = "<p>Bakers of the upper town want to sell bread on Sundays too, and the church agrees.</p>"
HEAD = "Bakers want to sell bread on Sundays"

FOLLOWERS = [
    "<article class=s><h1>{HEAD}</h1>{TEXT}{OTHER}</article>",
    "<article><h2><a href='/bread'>{HEAD}</a></h2>{OTHER}</article>",
    "<article><header><h2>{HEAD}</h2><p class=byline>By Al Roe</p></header>{OTHER}</article>",
    "<article><a href='/bread'><h3>{HEAD}</h3></a><time>3 May</time>{OTHER}</article>",
    "<div class=article><h1>{HEAD}</h1><div class=meta>By Al Roe | 3 May 2024</div>{OTHER}</div>",
    "<hr><section><h2>{HEAD}</h2><time>3 May 2024</time>{OTHER}</section>",
    "<section data-url='/bread'><h2>{HEAD}</h2><div class=when>3.5.2024</div>{OTHER}</section>",
]


def story(own: str, following: str) -> bytes:
    title = "Rain closes the lower road"
    text = own.replace("{H1}", f"<h1>{title}</h1>").replace("{TEXT}", TEXT)
    other = (
        following.replace("{HEAD}", HEAD)
        .replace("{OTHER}", OTHER)
        .replace("{TEXT}", TEXT.replace("the", "a"))
    )
    return f"<html><head><title>{title}</title></head><body><main>{text}{other}</main></body></html>".encode()


@pytest.mark.parametrize("following", FOLLOWERS)
def test_the_text_ends_where_the_next_article_begins(following: str) -> None:
    assert read(story("<article class=s>{H1}{TEXT}</article>", following)).text.split("\n") == PROSE


def test_boxes_of_one_kind_with_headlines_are_several_articles() -> None:
    following = "<div class='post next'><h2>{HEAD}</h2><time>3 May</time>{OTHER}</div>"
    assert read(story("<div class='post first'>{H1}{TEXT}</div>", following)).text.split("\n") == PROSE


def test_a_second_headline_with_a_byline_in_the_same_box_begins_another_article() -> None:
    article = read(story("{H1}{TEXT}", "<h1>{HEAD}</h1><p class=author>Al Roe</p>{OTHER}"))
    assert "Bakers of" not in article.text


@pytest.mark.parametrize(
    "following",
    [
        "<hr><h2><a href='/bread'>{HEAD}</a></h2><p class=byline>By Al Roe</p>{OTHER}",
        "<h2><a href='/bread'>{HEAD}</a></h2><p>Al Roe, 3 May 2024</p>{OTHER}",
        "<h2>{HEAD}</h2><p>By Al Roe | 3 May 2024, 10:05</p>{OTHER}",
        "<article><h2><a href='/bread'>{HEAD}</a></h2><time>3 May</time>{OTHER}</article>",
    ],
)
def test_an_article_inside_the_box_of_the_page_is_another_article(following: str) -> None:
    markup = f"<article>{{H1}}{{TEXT}}{following.replace('{HEAD}', HEAD).replace('{OTHER}', OTHER)}</article>"
    assert read(story(markup, "")).text.split("\n") == PROSE


@pytest.mark.parametrize(
    "following",
    [
        "<article><h2>{HEAD}</h2><time>3 May</time>{OTHER}</article>",
        "<div class=story><h1>{HEAD}</h1><span class=date>3.5.2024</span>{OTHER}</div>",
        "<section><h2>{HEAD}</h2><p class=byline>Al Roe</p><time>3 May</time>{OTHER}</section>",
    ],
)
def test_a_box_after_an_article_without_a_box_is_another_article(following: str) -> None:
    article = read(story("<table><tr><td>{H1}{TEXT}", f"{following}</td></tr></table>"))
    assert article.text.split("\n") == PROSE


def test_headlines_in_chinese_are_long_enough() -> None:
    text = "".join(f"<p>{'水坝在夜里没有决口，市长早上说道，雨还会下三天。' * 2}{n}</p>" for n in range(4))
    other = "<article><h2><a href=/b>面包师要卖面包</a></h2><time>5月3日</time><p>面包师要卖。</p></article>"
    head = "水坝没有决口"
    markup = f"<title>{head}</title><body><main><article><h1>{head}</h1>{text}</article>{other}</main>"
    assert "面包" not in read(markup.encode()).text


def test_sections_with_a_day_below_their_headings_stay() -> None:
    following = "<h2>The rain of the third of May</h2><p>3 May 2024</p>{OTHER}"
    assert "Bakers of" in read(story("<article>{H1}{TEXT}", f"{following}</article>")).text


def test_further_sections_of_the_article_stay() -> None:
    following = "<section><h2>What happens next on the road</h2>{OTHER}</section>"
    assert "Bakers of" in read(story("<section>{H1}{TEXT}</section>", following)).text


# --- notices
NOTICE = (
    "<h2>We value your privacy</h2><p>We and our 90 partners store cookies on your device. You may accept or "
    "reject cookies, or change your consent at any time in the cookie settings.</p><button>Accept</button>"
)


BOXES = [
    "<div class=cc-window role=alertdialog>{}</div>",
    "<div><div>{}</div></div>",
    "<header><section>{}</section></header>",
]
COOKIES = [
    "<p>This site uses cookies to give you the best experience, and to count you.</p><button>OK</button>",
    "<p>Wir verwenden Cookies, um Inhalte zu zeigen und Zugriffe zu zählen.</p><a href='#'>Zustimmen</a>",
    "<b>Мы используем файлы cookie. Продолжая, вы соглашаетесь с этим.</b><input type=button value=OK>",
]


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("notice", COOKIES)
@pytest.mark.parametrize("above", [True, False])
def test_a_notice_about_cookies_is_not_a_line_of_a_short_text(box: str, notice: str, above: bool) -> None:
    title, shown = "Rain closes the lower road", box.format(notice)
    article = f"<h1>{title}</h1><p>{PROSE[0]}</p>"
    body = f"{shown}{article}" if above else f"{article}{shown}"
    markup = f"<html><head><title>{title}</title></head><body>{body}</body></html>"
    assert read(markup.encode()).text == PROSE[0]


def test_a_recipe_for_cookies_keeps_its_steps() -> None:
    step = f"<p>Bake the cookies until they are brown. {PROSE[0]}</p><button>Done</button>"
    article = read(page(body=f"<p>{PROSE[2]}</p><div>{step}</div><p>{PROSE[1]}</p>"))
    assert "Bake the cookies" in article.text


@pytest.mark.parametrize(
    "box",
    ["<div id=cookie-box>{}</div>", "<section class='gdpr-layer'>{}</section>", "<dialog open>{}</dialog>"],
)
@pytest.mark.parametrize("vouched", [True, False])
def test_a_short_text_with_a_question_about_cookies_is_news(box: str, vouched: bool) -> None:
    markup = (
        "<html><head><title>Rain closes the lower road</title></head><body>{}"
        f"<article><h1>Rain closes the lower road</h1><time datetime=2024-05-03>3 May</time><p>{PROSE[0]}</p>"
        f"<p>{PROSE[1]}</p></article></body></html>"
    )
    article = read(markup.format(box.format(NOTICE)).encode(), vouched=vouched)
    assert article.text.split("\n") == PROSE[:2]


# --- languages
@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "gl",
            "O concello pechou a estrada de abaixo porque a auga subiu na noite, e ninguén sufriu danos.",
        ),
        (
            "ast",
            "El conceyu zarró la carretera de baxo porque l'agua xubió pela nueche, y naide nun tuvo daños.",
        ),
        (
            "ga",
            "Dhún an chomhairle an bóthar íochtarach mar gur ardaigh an t-uisce san oíche, a dúirt an méara.",
        ),
        (
            "mt",
            "Il-kunsill għalaq it-triq ta' isfel għax l-ilma għola billejl, u ħadd ma weġġa', qal is-sindku.",
        ),
        (
            "oc",
            "Lo conselh a barrat la rota d'en bas perque l'aiga es montada dins la nuèch, degun a pas patit.",
        ),
        (
            "sc",
            "Su consìgiu at serradu su caminu de bàsciu ca s'abba est creschida in su note, nemos at tentu.",
        ),
        ("lb", "D'Gemeng huet d'ënnescht Strooss zougemaach, well d'Waasser an der Nuecht geklommen ass."),
        ("so", "Degmadu waxay xirtay wadada hoose sababtoo ah biyaha ayaa kor u kacay habeenkii, ayuu yiri."),
        ("ps", "ښاروالۍ ښکته سړک وتاړه ځکه چې په شپه کې اوبه لوړې شوې او هیچا ته زیان ونه رسېد."),
    ],
)
def test_a_stated_smaller_language_is_believed(language: str, text: str) -> None:
    markup = page(body=f"<p>{text} {text}</p>", title=text[:60]).replace(
        b"<html>", f"<html lang={language}>".encode()
    )
    assert read(markup).language == language


@pytest.mark.parametrize("stated", ["cy", "se", "si", "br"])
def test_a_wrong_stated_language_is_not_believed(stated: str) -> None:
    assert read(page().replace(b"<html>", f"<html lang={stated}>".encode())).language == "en"
