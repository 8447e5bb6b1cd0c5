"""Pages that are not articles, each with its reason."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from newsbot.errors import NotAnArticle
from newsbot.items import Link, Where
from newsbot.pages.extraction import article
from newsbot.pages.extraction.verdict import Standing, Witnesses, is_headline
from newsbot.pages.rules.rule import Pattern, Rule
from tests.extraction_pages import PROSE, TEXT, URL, from_feed, json_ld, page, read, saved

SITE = "https://www.example.org"
SHORT = "<p>Two trams met on one track in Zarechye this morning. Nobody was hurt, the line is open again.</p>"


def why(html: bytes, url: str = URL, hint: Link | None = None, rule: Rule | None = None) -> str:
    with pytest.raises(NotAnArticle) as caught:
        read(html, url, hint=hint, rule=rule)
    return caught.value.reason


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/sport/", "section_front"),
        ("/", "section_front"),
        ("/tag/football", "section_front"),
        ("/search?q=rain", "section_front"),
        ("/category/sport/", "section_front"),
    ],
)
def test_lists_of_articles(path: str, reason: str) -> None:
    assert why(saved("section_front.html"), SITE + path) == reason


@pytest.mark.parametrize("count", [12, 20])
def test_teasers_in_boxes_of_their_own_are_not_an_article(count: int) -> None:
    boxes = "".join(
        f"<article><h2><a href=/s/{n}>Story {n} of the long rainy day in town</a></h2>"
        f"<p>On day {n}: {PROSE[0]}</p></article>"
        for n in range(count)
    )
    with pytest.raises(NotAnArticle):
        read(page(body=boxes, title="Politics"), f"{SITE}/a-story-of-the-town-4711.html", vouched=False)


def test_a_story_with_a_short_headline_and_url_is_not_a_section() -> None:
    more = "".join(f"<li><a href=/s/{n}>Story {n} of the long rainy day in town</a></li>" for n in range(9))
    assert read(page(body=f"{TEXT * 2}<ul>{more}</ul>", title="Long rain"), f"{SITE}/news/rain").text


def test_a_list_is_recognised_even_if_it_is_declared_as_an_article() -> None:
    front = saved("section_front.html").replace(b'content="website"', b'content="article"')
    assert why(front, f"{SITE}/sport/") == "section_front"


@pytest.mark.parametrize(
    ("title", "reason"),
    [
        ("404 Not Found", "error_page"),
        ("Страница не найдена", "error_page"),
        ("Seite nicht gefunden", "error_page"),
        ("Diese Seite existiert leider nicht (mehr)", "error_page"),
        ("Przepraszamy, strona nie została znaleziona", "error_page"),
        ("Pagina căutată nu există", "error_page"),
        ("Deze pagina bestaat niet (meer)", "error_page"),
        ("Cette page n'existe pas", "error_page"),
        ("La página que busca no existe", "error_page"),
        ("La pagina che cerchi non esiste", "error_page"),
        ("Sorry, we couldn't find the page you were looking for", "error_page"),
        ("Sidan du söker finns inte", "error_page"),
        ("Siden du leter etter finnes ikke", "error_page"),
        ("Страница, которую вы ищете, не найдена", "error_page"),
        ("Błąd 404", "error_page"),
        ("Just a moment...", "blocked"),
        ("Access denied", "error_page"),
        ("Stránka nenalezena", "error_page"),
        ("Sidan kunde inte hittas | Example", "error_page"),
        ("Sayfa bulunamadı - Example", "error_page"),
        ("页面不存在", "error_page"),
        ("ページが見つかりません", "error_page"),
        ("الصفحة غير موجودة", "error_page"),
        ("Η σελίδα δεν βρέθηκε", "error_page"),
        ("Pagina niet gevonden", "error_page"),
        ("Oops! That page can’t be found.", "error_page"),
        ("お探しのページは見つかりませんでした", "error_page"),
        ("This article is no longer available", "error_page"),
        ("451: Unavailable due to legal reasons", "error_page"),
        ("Not available in your region", "error_page"),
        ("Website is under maintenance", "error_page"),
        ("Welcome to nginx!", "error_page"),
        ("Index of /news", "error_page"),
        ("Nothing Found - Example", "error_page"),
        ("Pardon Our Interruption", "blocked"),
    ],
)
def test_errors_with_status_200(title: str, reason: str) -> None:
    body = f"<p>{title}. The page that you wanted is not here, or not any more. Try the search above.</p>"
    assert why(page(body=body, title=title)) == reason
    assert why(page(body=body, title=title), hint=from_feed()) == reason


@pytest.mark.parametrize(
    "text",
    [
        (
            "We and our 842 partners store and access personal data, like browsing data or unique ids "
            "on your device. Selecting I Accept enables tracking technologies to support the purposes shown. "
            "You can change your choices or withdraw consent at any time by clicking the Privacy Preferences."
        ),
        (
            "Mit Werbung und Cookies weiterlesen. Besuchen Sie uns wie gewohnt mit Werbung und Tracking. "
            "Details zum Tracking finden Sie im Privacy Center. Ihre Zustimmung ist jederzeit widerrufbar. "
            "Oder nutzen Sie uns ganz ohne Werbung. Jetzt abonnieren."
        ),
        (
            "Avec vos données personnelles, nos partenaires et nous utilisons des cookies. Vous pouvez "
            "continuer sans accepter, ou gérer vos choix. Votre consentement vaut pour six mois, puis nous "
            "vous le demandons à nouveau."
        ),
        (
            "Avec votre accord, nos 311 partenaires et nous gardons des cookies sur votre appareil pour "
            "mesurer notre audience et choisir la publicité que vous voyez. Le journal vit de cette "
            "publicité et de ses abonnés ; sans elle, la rédaction ne pourrait pas travailler. Vous pouvez "
            "retirer votre consentement à tout moment, ou vous opposer à un intérêt légitime. Vos données "
            "personnelles ne sont pas vendues. Tout cela figure dans notre page sur la vie privée."
        ),
        (
            "Nós e os nossos 95 parceiros guardamos cookies no seu aparelho e tratamos dados pessoais, para "
            "medir as visitas e escolher os anúncios. Pode mudar as suas preferências ou retirar o "
            "consentimento quando quiser. A escolha vale só para este jornal."
        ),
        (
            "当サイトと提携先40社は、端末にCookieを保存し、個人データを広告の表示と閲覧数の計測に使います。"
            "続けて読むには同意が必要です。同意しない方は購読できます。同意は後から取り消せます。プライバシーの設定は下のボタンから変えられます。"
        ),
    ],
)
def test_a_consent_page_is_not_an_article(text: str) -> None:
    html = page(body=f"<p>{text}</p>", title="Your privacy is important to us at Example")
    assert why(html) == "consent"
    # The site gives it in place of an article of its feed.
    announced = Link(url=URL, where=Where.FEED, text="Two trams met on one track in Zarechye")
    assert why(html, hint=announced) == "consent"


def test_news_about_consent_is_an_article() -> None:
    title = "Regulator says how sites may ask for consent"
    text = (
        "Sites may no longer set cookies before their readers accept cookies, the regulator said on Monday. "
        "Readers must be able to reject all tracking with one click, and to withdraw consent at any time. "
        "The privacy settings must be on each page. Two newspapers said that they would go to court."
    )
    announced = Link(url=URL, where=Where.FEED, text=title)
    assert read(page(body=f"<h1>{title}</h1><p>{text}</p>", title=f"{title} - Example"), hint=announced)


def test_news_about_cookies_is_an_article() -> None:
    story = (
        "<p>The court ruled on Friday that a shop may not store cookies before a visitor agrees. The judges "
        "said that a closed window is no answer, that cookies may wait, and that no box may be ticked.</p>"
    )
    assert read(page(body=story + TEXT, title="Court decides on cookies of shops")).text.startswith("The c")


def test_news_about_an_error_is_an_article() -> None:
    assert read(page(title="Error in the budget: page not found in the ledger, says auditor")).title
    assert read(page(title="Die Seite der Verlierer existiert nicht in diesem Buch über den Krieg")).title


def test_a_login() -> None:
    form = (
        "<form><input name=user><input type=password name=pw><button>Go</button></form><p>Members only.</p>"
    )
    assert why(page(body=form, title="Sign in")) == "login"


def test_a_short_article_with_a_login_in_its_frame_is_no_login() -> None:
    """Neither a headline nor metadata show that it is an article."""
    form = "<div id=top><form><input name=user><input type=password name=pw><button>Go</button></form></div>"
    short = page(body=f"{form}<p>{PROSE[0]} {PROSE[0]}</p>", title="Two trams met")
    assert read(short).text.startswith(PROSE[0][:20])


def test_the_name_of_the_site_is_no_headline_of_a_list() -> None:
    menu = "".join(f"<li><a href=/{n}>Part {n}</a></li>" for n in range(12))
    html = page(body=f"<h1><a href=/start>PAPER</a></h1><ul>{menu}</ul>{TEXT}", title="A bridge", h1="")
    assert article.read(html, URL, standing=Standing.MEMBER).refusal != "section_front"
    near = html.replace(f"<ul>{menu}</ul>".encode(), b"")
    assert article.read(near, URL, standing=Standing.MEMBER).refusal == "section_front"


def test_a_redirecting_page_is_not_an_article() -> None:
    refresh = '<meta http-equiv="Refresh" content="0; url=/elsewhere">'
    assert why(page(refresh, "<p>This page has moved.</p>")) == "redirect_stub"


def test_a_long_page_that_reloads_itself_is_an_article() -> None:
    assert read(page('<meta http-equiv="refresh" content="300">')).text


def test_short_news_is_an_article_if_a_feed_announced_it() -> None:
    html = page(body=SHORT, title="Two trams met")
    with pytest.raises(NotAnArticle, match="too_short"):
        read(html, vouched=False)
    assert read(html, hint=from_feed("Two trams met")).text
    assert read(html, hint=from_feed("Two trams met", where=Where.NEWS_SITEMAP)).text


def test_empty_pages() -> None:
    assert why(b"") == "empty"
    assert why(b" \r\n\t ") == "empty"
    assert why(b"<html><head></head><body></body></html>") == "no_text"
    assert why(page(body="")) == "no_text"


@pytest.mark.parametrize(
    "start",
    [
        b"%PDF-1.7\n",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0",
        b"PK\x03\x04",
        b"\x1f\x8b\x08",
        b"\0\0\0\x20ftypmp42",
        b"\0" * 40,
    ],
)
def test_files_under_a_wrong_type(start: bytes) -> None:
    assert why(start + bytes(range(256)) * 20) == "binary"


def test_an_article_with_many_related_headlines_is_an_article() -> None:
    related = "".join(
        f'<li><a href="/n/{n}">Another headline of the day, number {n}</a></li>' for n in range(60)
    )
    article = read(page(body=f"{TEXT}</article><ul>{related}</ul>"))
    assert article.text.splitlines() == PROSE


def test_an_article_at_the_url_of_a_front_page_is_read() -> None:
    """Some pages are saved without their path."""
    assert read(page(), f"{SITE}/").text.splitlines() == PROSE


def test_a_page_with_the_headline_of_one_story_is_not_a_front_page() -> None:
    """Saved pages often have only the host as URL; links around the story do not make it a list."""
    links = "".join(
        f'<div><a href="/n/{n}">Another headline of the day, number {n}</a></div>' for n in range(60)
    )
    title = "Rain closes the lower road for a week"
    story = f"<div><h1>{title}</h1>{TEXT[:700]}</div>{links}"
    assert read(page(body=story, title=f"{title} - Example News"), f"{SITE}/").title == title
    front = saved("section_front.html").replace(b"<title>", b"<title>Example News - ")
    assert why(front, f"{SITE}/") == "section_front"


def test_headlines_around_the_text_do_not_make_an_announced_article_a_list() -> None:
    """Each section of the article has its own box, so no box has most of the prose."""
    prose = [f"{text} The road stays closed until Sunday." for text in PROSE]
    others = "".join(
        f"<div><a href=/n/{n}>Another headline of the day, number {n}</a></div>" for n in range(30)
    )
    sections = "".join(
        f"<section><h4>{n}. A lower road</h4><p>{text}</p></section>" for n, text in enumerate(prose)
    )
    html = (
        f"<html><title>Four roads and the river</title><body>{others}<div>{sections}</div>{others}".encode()
    )
    assert read(html, hint=Link(url=URL, where=Where.FEED)).text.endswith(prose[-1])
    teasers = "".join(
        f"<section><h4><a href={n}>The lower road is closed again, part {n}</a></h4><p>{text}</p></section>"
        for n, text in enumerate(prose * 3)
    )
    front = f"<html><title>The valley news of today</title><body><div>{teasers}</div>".encode()
    assert why(front, hint=Link(url=URL, where=Where.FEED)) == "section_front"


def test_collections_of_schema_org() -> None:
    front = saved("section_front.html").replace(
        b"</head>", json_ld('{"@type":"CollectionPage","name":"Sport"}').encode() + b"</head>"
    )
    assert why(front, f"{SITE}/a/b") == "section_front"


def test_an_article_with_only_its_summary_on_the_page_is_partial() -> None:
    summary = (
        "The river rose in the night and by morning the lower road was closed to all but the fire brigade, "
        * 2
    )
    node = f'{{"@type":"NewsArticle","headline":"Rain closes the lower road","description":"{summary}",%s}}'
    article = read(page(json_ld(node % '"datePublished":"2024-05-03"'), ""))
    assert article.partial
    assert article.text == summary.strip()
    assert article.extraction["text"] == "teaser"
    assert why(page(json_ld(node % '"wordCount":1'), "")) == "no_text"
    cut = node.replace(summary, "The river") % '"datePublished":"2024-05-03"'
    whole = f'<meta property="og:description" content="{summary}">'
    assert read(page(json_ld(cut) + whole, "")).text == summary.strip()


def test_an_unclosed_button_does_not_hide_the_article() -> None:
    html = f"<html><body><header><button>Menu<main><h1>Rain closes the road</h1>{TEXT}</main></body></html>"
    assert read(html.encode()).text.count("\n") == 3


@pytest.mark.parametrize(
    "start",
    [
        '<?xml version="1.0"?><rss><channel><item>',
        '\ufeff<?xml version="1.0" encoding="utf-8"?>\n<!-- made by hand -->\n<feed><entry>',
        '<?xml version="1.0"?><urlset><url>',
        '{"items": [',
        '[{"text": "',
    ],
)
def test_feeds_sitemaps_and_json_are_not_pages(start: str) -> None:
    assert why(f"{start}{TEXT}".encode()) == "no_page"


def test_an_xhtml_page_is_a_page() -> None:
    assert read(b'<?xml version="1.0" encoding="utf-8"?>\n' + page()).text.splitlines() == PROSE


# --- evidence that a page is an article

UNDATED = page(title="How the blue pump is cleaned and mounted")
DATED = '<meta name="date" content="2024-05-09">'
NEWS = json_ld(
    '{"@type":"NewsArticle","headline":"How the blue pump is cleaned","datePublished":"2024-05-09",'
    '"author":{"@type":"Person","name":"Jane Doe"}}'
)


@pytest.mark.parametrize(
    "path",
    [
        "/products/blue-pump",
        "/docs/pump/install.html",
        "/about",
        "/",
        "/2024/05/09/how-the-blue-pump-is-cleaned",
    ],
)
def test_neither_an_address_nor_a_sitemap_is_evidence(path: str) -> None:
    for where in (None, Where.BODY, Where.SITEMAP):
        hint = None if where is None else Link(url=SITE + path, where=where)
        with pytest.raises(NotAnArticle, match="no_evidence"):
            read(UNDATED, SITE + path, hint=hint, vouched=False)
    named = [Link(url=SITE + path, where=where) for where in (Where.FEED, Where.NEWS_SITEMAP)]
    pattern = Rule(domain="example.org", article=(Pattern(".*", "example.org.yaml", 1),))
    for hint, rule in [*((hint, None) for hint in named), (None, pattern)]:
        assert read(UNDATED, SITE + path, hint=hint, rule=rule, vouched=False).text
    assert read(UNDATED, SITE + path).text, "a person asked for it"


@pytest.mark.parametrize("path", ["/products/blue-pump", "/about", "/login", "/a"])
def test_evidence_in_the_page_counts_at_any_address(path: str) -> None:
    assert read(page(NEWS, title="How the blue pump is cleaned"), SITE + path, vouched=False).text


def test_more_evidence_is_needed_for_a_sample_of_an_unknown_family() -> None:
    html, url = page(title="How the blue pump is cleaned and mounted on the wall"), f"{SITE}/a"
    sure = page(NEWS, title="How the blue pump is cleaned")
    assert article.read(sure, url, standing=Standing.SAMPLE).article is not None
    refused = article.read(html, url, standing=Standing.SAMPLE)
    assert refused.refusal == "no_evidence"
    assert refused.evidence is not None
    assert "date" in refused.evidence.missing


def test_a_page_in_the_frame_of_the_site_without_its_metadata_is_refused() -> None:
    witnesses = Witnesses()
    sure = page(NEWS, title="How the blue pump is cleaned")
    for _ in range(5):
        found = article.read(sure, URL, standing=Standing.NAMED).evidence
        assert found is not None
        witnesses.add(found)
    bare = page(title="Senior accountant wanted in the city of the bridge")
    for standing in (Standing.SAMPLE, Standing.MEMBER):
        assert article.read(bare, URL, standing=standing, witnesses=witnesses).refusal == "no_evidence"
        assert article.read(sure, URL, standing=standing, witnesses=witnesses).article is not None


def test_an_author_page_is_not_an_article_unless_it_is_vouched_for() -> None:
    author = page(f'{NEWS}<meta name="author" content="Jane Doe">', title="Jane Doe")
    with pytest.raises(NotAnArticle):
        read(author, f"{SITE}/2024/05/09/jane-doe-and-all-that-she-wrote", vouched=False)
    assert read(author, f"{SITE}/2024/05/09/jane-doe-and-all-that-she-wrote", vouched=True).text


def test_a_chinese_headline_is_a_headline() -> None:
    assert is_headline("今年春天北京城里开了三座新的图书馆")
    assert not is_headline("新闻中心")


# --- pages of other kinds that have a date: shops, manuals, lists

BUY = "<form action=/cart/add><button name=add>Add to cart</button></form>"
OFFER = '{"@type":"Product","name":"%s","offers":{"@type":"Offer","price":"19.90"}}'


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ('<meta property="og:type" content="product">', TEXT),
        (json_ld(OFFER % "Blue pump"), TEXT),
        ('<meta property="og:type" content="article">' + json_ld(OFFER % "Blue pump, large"), TEXT),
        (
            "",
            f"<div itemscope itemtype='https://schema.org/Product'>{TEXT}<b itemprop=price>19</b></div>",
        ),
        ("", f"{TEXT}<p>€ 19,90</p>{BUY}"),
        ("", f"{TEXT}<div>19 900 руб</div><a class=btn href=/korzina/?add=17>+</a>"),
    ],
)
def test_a_product_for_sale_is_not_an_article(head: str, body: str) -> None:
    html = page(DATED + head, body, title="Blue pump, large")
    url = f"{SITE}/pumps/blue-pump-large-with-hose-4711.html"
    for hint in (None, Link(url=url, where=Where.BODY), Link(url=url, where=Where.SITEMAP)):
        with pytest.raises(NotAnArticle, match="no_evidence"):
            read(html, url, hint=hint, vouched=False)
    assert read(html, url, hint=Link(url=url, where=Where.FEED), vouched=False).text


@pytest.mark.parametrize(
    "body", [f"{TEXT}<p>€ 19,90</p>{BUY}", f"<header>{BUY}</header>{TEXT}<p>€ 19,90</p>"]
)
def test_a_review_or_a_magazine_that_also_sells_is_an_article(body: str) -> None:
    html = page(NEWS, body, title="How the blue pump is cleaned")
    assert read(html, f"{SITE}/2024/05/09/how-good-is-the-blue-pump", vouched=False).text


@pytest.mark.parametrize(
    "head",
    [
        '<meta name="generator" content="Docutils 0.19: https://docutils.sourceforge.io/">',
        '<link rel="up" href="Shell-Grammar.html">',
        '<link rel="index" title="Index" href="../genindex.html">',
    ],
)
def test_a_chapter_of_a_manual_is_not_an_article(head: str) -> None:
    title, url = "How the blue pump is cleaned", f"{SITE}/docs/how-the-blue-pump-is-cleaned.html"
    built = "<footer>Built on May 9, 2024</footer>"
    with pytest.raises(NotAnArticle, match="no_evidence"):
        read(page(head, TEXT + built, title=title), url, vouched=False)


@pytest.mark.parametrize("path", ["/author/jane-doe.html", "/index2.html", "/index-3.html", "/category/town"])
def test_a_short_list_of_summaries_is_not_an_article(path: str) -> None:
    boxes = "".join(
        f"<article><h2><a href=/s/{n}>Story {n} of the long rainy day in town</a></h2>"
        f"<p>On day {n}: {' '.join(PROSE[n % 3 : n % 3 + 2])}</p></article>"
        for n in range(3)
    )
    html = f"<html><head>{DATED}<title>Example</title></head><body><h1>Example</h1>{boxes}</body></html>"
    with pytest.raises(NotAnArticle):
        read(html.encode(), SITE + path, vouched=False)


def single(link: str, own: str = "") -> bytes:
    """Return a page of a list that shows one whole text below a headline with a link."""
    line = "The harbour gets a new crane before the winter"
    return (
        f"<html><head><title>{own or 'Harbour News'}</title></head><body><h1><a href=/>Harbour News</a></h1>"
        f"<article><h2><a href='{link}'>{line}</a></h2><p>By Ann Lee, 5 March 2024</p>{TEXT * 2}</article>"
        "</body></html>"
    ).encode()


@pytest.mark.parametrize("path", ["/index7.html", "/tag/harbour/2/"])
def test_a_text_below_a_headline_that_links_to_another_page_is_a_list(path: str) -> None:
    with pytest.raises(NotAnArticle):
        read(single("/2026/the-harbour-gets-a-new-crane/"), SITE + path, vouched=False)


@pytest.mark.parametrize(
    "link",
    ["", "#top", "?utm_source=x", "/news/crane", "http://www.example.org/news/crane/", "/", "//other.test/"],
)
def test_the_headline_of_an_article_may_link_to_itself_or_to_other_sites(link: str) -> None:
    assert read(single(link), f"{SITE}/news/crane", vouched=False).text


def test_a_headline_with_a_link_that_is_the_title_of_the_page_is_its_own() -> None:
    own = "The harbour gets a new crane before the winter - Harbour News"
    assert read(single("/p/4711", own), f"{SITE}/news/crane", vouched=False).text


BLOG = "<meta name=generator content='mkdocs-1.6.1, mkdocs-material-9.5'>"


def test_a_program_for_manuals_also_makes_blogs() -> None:
    post = "<p class=byline>By Ann Lee</p><time datetime=2024-03-05T09:00:00Z>5 March 2024</time>"
    with pytest.raises(NotAnArticle):
        read(page(head=BLOG, body=TEXT * 2), f"{SITE}/guide/the-first-steps/", vouched=False)
    assert read(
        page(head=BLOG, body=f"{post}{TEXT * 2}"), f"{SITE}/blog/the-first-steps/", vouched=False
    ).text


WALLS = {
    "fr": "Le conseil municipal vote la rénovation du pont|Avant de poursuivre votre lecture|"
    "Avec votre accord, notre groupe et ses 712 fournisseurs utilisent des traceurs pour conserver "
    "et traiter des informations personnelles telles que votre visite sur ce service, les adresses IP et les "
    "identifiants. Certains fournisseurs se fondent sur leur intérêt légitime. Vous pouvez revenir sur votre "
    "décision à tout moment en cliquant sur « En savoir plus » au bas de chaque page. Vos préférences ne "
    "concernent que ce service. ",
    "fi": "Kaksi raitiovaunua törmäsi aamulla keskustassa|Arvostamme yksityisyyttäsi|"
    "Tallennamme laitteellesi evästeitä ja käsittelemme henkilötietoja, kuten yksilöllisiä tunnisteita, "
    "mukautettuja mainoksia, sisällön mittaamista ja kävijätutkimusta varten. Voit hyväksyä tai hylätä "
    "tämän käsittelyn napsauttamalla painiketta. Valintasi koskevat vain tätä sivustoa. ",
    "ja": "市議会、橋の改修予算を可決|続行する前に|"
    "当社およびパートナーは、お客様の端末に保存された情報へアクセスし、広告の配信や効果測定、サービスの向上の"
    "ために利用します。お客様はいつでも設定を変更することができます。有料プランもご利用ください。",
}
"""Language -> a headline, the heading of a message in place of the article, and the text of the message."""


@pytest.mark.parametrize("language", WALLS)
@pytest.mark.parametrize("head", ["of the message", "of the article", "of an article in metadata"])
@pytest.mark.parametrize("times", [1, 6])
def test_a_text_without_the_announced_headline_is_another_page(language: str, head: str, times: int) -> None:
    headline, message, text = WALLS[language].split("|")
    title = message if head == "of the message" else f"{headline} - Example"
    metadata = ""
    if head.endswith("metadata"):
        metadata = json_ld(
            f'{{"@type": "NewsArticle", "headline": "{headline}", "datePublished": "2024-05-09"}}'
        )
        metadata += (
            f'<meta property="og:type" content="article"><meta property="og:title" content="{headline}">'
        )
    html = page(body=f"<p>{text}</p>" * times, title=title, h1=message, head=metadata)
    assert why(html, hint=from_feed(headline)) == "other_text"
    # A pattern of a rule says nothing about the text.
    rule = Rule(domain="example.org", article=(Pattern("/", "example.yaml", 1),))
    assert why(html, hint=from_feed(headline), rule=rule) == "other_text"


@pytest.mark.parametrize(
    "announced", ["Ð¡Ð¾Ð²ÐµÑ‚ Ð¿Ñ€Ð¸Ð½ÑÐ» Ð±ÑŽÐ´Ð¶ÐµÑ‚", "Untitled message without subject", "Read more"]
)
def test_an_article_under_a_broken_headline_of_its_feed_is_an_article(announced: str) -> None:
    day = "<time datetime=2024-05-09T08:00:00Z>9 May</time>"
    assert read(page(body=day + TEXT * 4), hint=from_feed(announced)).text


def test_a_page_that_a_feed_dates_still_has_a_date_of_its_own() -> None:
    """Otherwise a site's articles would seem undated, and its undated pages would be like them."""
    dated = page(body=f"<p class=date>9 May 2024</p>{TEXT}")
    announced = Link(url=URL, where=Where.FEED, published_at=datetime(2024, 5, 9, 12, tzinfo=UTC))
    for html, shows in ((dated, True), (page(), False)):
        found = article.read(html, URL, hint=announced)
        assert found.article is not None
        assert found.article.extraction["published_at"] == "feed"
        assert found.evidence is not None
        assert ("date" in found.evidence.marks) is shows
