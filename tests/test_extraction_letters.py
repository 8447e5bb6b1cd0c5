"""Letters, words and shells of pages, as readers see them."""

from __future__ import annotations

import pytest

from newsbot.pages.discovery.feeds import parse_feed
from newsbot.pages.extraction import parse_html
from newsbot.pages.extraction.page import Page
from newsbot.pages.extraction.visible import text_of
from newsbot.pages.text.codings import decode
from newsbot.pages.text.words import key, plain, query_stems, squash, stemming, stems
from tests.extraction_pages import PROSE, TEXT, page, read

JOINED = [
    "کتاب‌خانه‌ها باز می‌شوند",  # Persian
    "ශ්‍රී ලංකාව ක්‍රීඩා",  # Sinhala
    "അവന്‍ പറഞ്ഞു",  # Malayalam
    "র‍্যাব বলেছে",  # Bengali
    "ಸಾಫ್ಟ್‌ವೇರ್ ಮತ್ತು ಕ್ಲಬ್‌",  # Kannada
    "दऱ्‍या सुधारणा",  # Marathi
    "family 👩‍👧‍👦 and ❤️‍🔥",
    "ទីក្រុង\u200bភ្នំពេញ",  # Khmer
    "ກະຊວງ\u200bສຶກສາ",  # Lao
]


@pytest.mark.parametrize("text", JOINED)
def test_joiners_and_separators_of_words_are_spelling(text: str) -> None:
    assert squash(text) == text
    article = read(page(title=text, body=f"<p>{text}. {PROSE[0]}</p>{TEXT}", h1=text))
    assert article.title == text
    assert article.text.startswith(text)
    feed = f"<rss><channel><item><title>{text}</title><link>http://a.test/1</link></item></channel></rss>"
    assert parse_feed(feed.encode(), "http://a.test/feed").links[0].text == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("gov\u00adern\u00adment", "government"),
        ("\u200bfirst\u200b word\u200c", "first word"),
        ("می‌ شود", "می شود"),
        ("می‌‌شود", "می‌شود"),
        ("日本\u200b語\u200d。", "日本語。"),
    ],
)
def test_stray_marks_are_removed(text: str, clean: str) -> None:
    assert squash(text) == clean


def test_keys_ignore_joiners() -> None:
    assert key("می‌شود") == key("میشود")


@pytest.mark.parametrize(
    ("written", "asked", "language"),
    [
        ("les œuvres", "oeuvre", "fr"),
        ("Cœur", "coeur", "fr"),
        ("Ægir", "aegir", "is"),
        ("здоровʼя", "здоров’я", "uk"),
        ("сімʼї", "сім'ї", "uk"),
        ("می‌شود", "میشود", "fa"),
        ("میشود", "می‌شود", "fa"),
        ("ශ්‍රී", "ශ්රී", "si"),
    ],
)
def test_search_finds_all_spellings(written: str, asked: str, language: str) -> None:
    stored = tuple(stems(written, stemming(language)))
    assert any(run == stored[-len(run) :] for run in query_stems(asked, (stemming(language),)))


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("Why the &lt;details&gt; element matters", "Why the <details> element matters"),
        ("&lt;picture&gt; or &lt;img srcset&gt;?", "<picture> or ?"),
        ("Press &amp;lt;Enter&amp;gt; twice", "Press <Enter> twice"),
        ("&lt;em&gt;Rain&lt;/em&gt; in May", "Rain in May"),
        ("Rain&lt;br&gt;in May", "Rain in May"),
    ],
)
def test_element_names_in_headlines_are_text(markup: str, title: str) -> None:
    assert Page.read(parse_html(f"<title>{markup}</title>".encode()), "").title_tag == title


def test_markup_of_metadata_is_removed() -> None:
    assert plain("<p><strong>CITY – The mayor <a href='/m'>said") == "CITY – The mayor said"


# --- inline elements
@pytest.mark.parametrize(
    ("markup", "line"),
    [
        ("<ruby>山<rt>やま</rt></ruby>に<ruby>登<rp>(</rp><rt>のぼ</rt><rp>)</rp></ruby>る。", "山に登る。"),
        ("<ruby>東<rb>京<rt>とう<rt>きょう</ruby>の話。", "東京の話。"),
        ("The <button>old mill</button> at <data value=7>seven</data> <output>bells</output>.", ""),
        ("The <span><button>old mill</button></span> at seven <bdi>bells</bdi>.", ""),
        ("The <st1:place>old <st1:name>mill</st1:name></st1:place> at <time>seven</time> bells.", ""),
        ("The <meter>old</meter> <progress>mill</progress> at <slot>seven</slot> bells<o:p></o:p>.", ""),
    ],
)
def test_inline_elements_never_cut_a_sentence(markup: str, line: str) -> None:
    article = read(page(body=f"<p>{markup} {PROSE[1]}</p>{TEXT}"))
    assert article.text.split("\n")[0] == f"{line or 'The old mill at seven bells.'} {PROSE[1]}"


def test_buttons_beside_a_sentence_are_not_text() -> None:
    article = read(page(body=f"<p>{PROSE[0]} <button>Share</button></p><p><button>Save</button></p>{TEXT}"))
    assert "Share" not in article.text
    assert "Save" not in article.text


def test_an_emoji_that_is_a_picture_stays_in_its_sentence() -> None:
    article = read(page(body=f"<p>Rain <img class=emoji alt='🌧️' src=/r.png> again. {PROSE[1]}</p>{TEXT}"))
    assert article.text.startswith("Rain 🌧️ again. ")


def test_readings_are_dropped_from_headlines() -> None:
    tree = parse_html("<body><h1><ruby>橋<rt>はし</rt></ruby>の<b>工</b>事</h1>".encode())
    assert text_of(next(tree.iter("h1"))) == "橋の工事"


# --- the shell
STORY = f"<article><h1>Rain closes the lower road</h1>{TEXT}</article>"
HEAD = "<title>Rain closes the lower road</title><meta name=author content='Jo Hill'>"
SHELLS = {
    "tags omitted": "<!doctype html><html lang=en>HEAD<header><a href=/>Site</a></header><main>STORY</main>",
    "self-closed": "<html lang='en' /><head>HEAD</head><body>STORY</body></html>",
    "self-closed head": "<html lang=en><head />HEAD<body>STORY</body></html>",
    "self-closed body": "<html lang=en><head>HEAD</head><body class=x />STORY</html>",
    "shadow": "<html><head>HEAD</head><body><x-a><template shadowrootmode=open>STORY</template></x-a></body>",
    "early end": "<html lang=en><head>HEAD</head><body></body></html>STORY",
    "early end within": "<html><head>HEAD</head><body><header>x</header></body></html><!-- c -->STORY",
    "empty body first": "<html lang=en><head>HEAD</head><body></body><body class=x>STORY</body></html>",
    "banner page": "<html><body><div>Ad</div></body></html><html><head>HEAD</head><body>STORY</body></html>",
    "titled banner": "<html><title>Ad</title><body>Ad</body></html><html>HEAD<body>STORY</body></html>",
    "head in body": "<html lang=en><body><head>HEAD</head>STORY</body></html>",
    "body in a script": "<html><head><script>'<body></body></html>'</script>HEAD</head><main>STORY</main>",
    "text in the head": "<html lang=en><head>Ad HEAD</head><body>STORY</body></html>",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_page_with_an_odd_shell_is_read_like_in_a_browser(shell: str) -> None:
    article = read(SHELLS[shell].replace("HEAD", HEAD).replace("STORY", STORY).encode())
    assert article.text.split("\n") == PROSE
    assert article.title == "Rain closes the lower road"
    assert article.authors == ["Jo Hill"]


def test_attributes_of_repeated_bodies_are_kept() -> None:
    tree = parse_html(b"<html><body id=a><p>x</p></body><body id=b class=c></body></html>")
    assert dict(next(tree.iter("body")).attrib) == {"id": "a", "class": "c"}


# --- one wrong byte
QUOTED = "The mayor’s “old” bridge — it’s closed"


@pytest.mark.parametrize("declared", ["utf-8", None])
def test_one_cut_character_is_one_mark(declared: str | None) -> None:
    page = QUOTED.encode() + b" for a week \xe2\x80 or two"
    assert decode(page, declared) == f"{QUOTED} for a week \ufffd or two"


def test_a_comment_in_another_encoding_leaves_the_page_in_utf8() -> None:
    page = QUOTED.encode() + " Très déçu, il a été fermé après l'été à Orléans".encode("latin-1")
    assert decode(page, "utf-8").startswith(QUOTED)
    assert "Tr\ufffds d\ufffd\ufffdu" not in decode(page, "utf-8")


def test_a_feed_in_json_with_a_wrong_byte_is_in_utf8() -> None:
    body = '{"version": "1.1", "items": [{"url": "http://a.test/1", "title": "It’s TITLE"}]}'
    feed = parse_feed(body.encode().replace(b"TITLE", b"d\xe9j\xe0 \xe2\x80"), "http://a.test/feed.json")
    assert feed.links[0].text == "It’s d\ufffdj\ufffd \ufffd"
