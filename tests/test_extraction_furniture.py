"""Comments, captions of galleries, mottos of blogs and side columns are not part of the article."""

from __future__ import annotations

import pytest

from tests.extraction_pages import PROSE, TEXT, page, read

REMARK = (
    "<p>What nonsense, says the man who has never seen a dam from near, and he is not alone with that.</p>"
)
HEADINGS = [
    "Comments (12)", "Leave a reply", "3 Kommentare", "Commentaires", "Comentarios", "Comentários",
    "Commenti", "Reacties (2)", "Komentarze", "Opinie (8)", "Комментарии (3)", "Komentáře", "Kommentarer",
    "Discussion (3 comments)",
    "Yorumlar", "Σχόλια", "网友评论", "コメント", "댓글 3", "تعليقات", "Bình luận",
]  # fmt: skip


@pytest.mark.parametrize("heading", HEADINGS)
def test_the_text_ends_at_the_heading_of_the_comments(heading: str) -> None:
    article = read(page(body=f"{TEXT}<div><h3>{heading}</h3>{REMARK * 3}</div>"))
    assert article.text.split("\n") == PROSE


@pytest.mark.parametrize(
    "name", ["trackbacks", "respond", "komentarze", "opinie", "comentarios", "reacties", "otzyvy"]
)
def test_boxes_named_after_comments_are_not_text(name: str) -> None:
    assert read(page(body=f"{TEXT}<div id={name}>{REMARK * 4}</div>")).text.split("\n") == PROSE


@pytest.mark.parametrize("kind", ["Comment", "UserComments"])
def test_comments_that_the_microdata_name_are_not_text(kind: str) -> None:
    scope = f"<div itemscope itemtype=https://schema.org/{kind}><b itemprop=author>Al</b>{REMARK}</div>"
    assert read(page(body=f"{TEXT}{scope}{scope}")).text.split("\n") == PROSE


CODE = [
    'window.queue = window.queue || []; send("js", new Date());',
    'var ads = (window.ads = window.ads || []).push({});',
    "{{ article.related }}", "{% include teaser %}", "${post.lead}", "%%%SLOT_3%%%", "##AD_TOP##",
    "&lt;!--more--&gt;", "&lt;script&gt;var x = 1;&lt;/script&gt;", "&lt;div id='ad-7'&gt;&lt;/div&gt;",
]  # fmt: skip


@pytest.mark.parametrize("line", CODE)
def test_code_and_placeholders_are_not_text(line: str) -> None:
    article = read(page(body=f"<p>{PROSE[0]}</p><p>{line}</p>{TEXT.partition('</p>')[2]}"))
    assert article.text.split("\n") == PROSE


@pytest.mark.parametrize(
    "line",
    [
        "The mayor (he was there) said: it holds; nobody laughed;",
        "<b>Dam:</b> built in 1911, 40 m high.",
        "Write &lt;div&gt; and &lt;p&gt; around each paragraph, said the teacher.",
        "#dam #water",
        "@mill and @dam = friends",
    ],
)
def test_lines_with_such_signs_are_text(line: str) -> None:
    article = read(page(body=f"<p>{PROSE[0]}</p><p>{line}</p>{TEXT.partition('</p>')[2]}"))
    assert len(article.text.split("\n")) == len(PROSE) + 1


def test_numbered_captions_of_a_gallery_are_not_text() -> None:
    items = "".join(
        f"<li><p>{n}/40</p><p>The dam seen from the {n}th tower, when the sun had gone down.</p></li>"
        for n in range(1, 20)
    )
    text = read(
        page(body=f"<p>{PROSE[0]}</p><div><ul>{items}</ul></div><p>{PROSE[1]}</p><p>{PROSE[2]}</p>")
    ).text
    assert "tower" not in text
    assert PROSE[0] in text


CAPTIONS = [
    "The dam in the last light of the day.",
    "Two geese on the wall.",
    "The miller opens the lower gate.",
]
GALLERIES = {
    "list": ("<ul>{}</ul>", "<li><a href=/{n}.jpg><img src=/{n}.jpg></a><p>{caption}</p></li>"),
    "definitions": ("<div>{}</div>", "<dl><dt><img src=/{n}.jpg></dt><dd>{caption}</dd></dl>"),
    "credits": (
        "<div>{}</div>",
        "<div><img src=/{n}.jpg><span>Photo: J. Mill</span><p class=x>{caption}</p></div>",
    ),
}


@pytest.mark.parametrize("kind", GALLERIES)
def test_captions_of_a_gallery_are_not_text(kind: str) -> None:
    around, item = GALLERIES[kind]
    items = "".join(item.format(n=n, caption=caption) for n, caption in enumerate(CAPTIONS))
    first, rest = TEXT.split("</p>", 1)
    assert read(page(body=f"{first}</p>{around.format(items)}{rest}")).text.split("\n") == PROSE


def test_paragraphs_between_pictures_are_text() -> None:
    pictures = [f"<img src=/{n}.jpg><p>{text}</p>" for n, text in enumerate(PROSE)]
    body = "".join(pictures) + "<p>Nobody was hurt, and the gate is open again since the morning.</p>"
    assert read(page(body=body)).text.split("\n")[: len(PROSE)] == PROSE


def test_the_motto_of_a_blog_is_not_text() -> None:
    motto = "I grind corn all day and write in the evening, and what I write is read by few, which is right."
    post = f"<h3>Rain closes the lower road</h3><div class=post-body>{TEXT.replace('p>', 'div>')}</div>"
    html = (
        "<html><head><title>Notes of a Miller: Rain closes the lower road</title></head><body><div id=header>"
        f"<div><h1>Notes of a Miller</h1><div><p class=description>{motto}</p></div></div></div>"
        f"<div class=main><div class=post>{post}</div></div>"
    )
    assert read(html.encode()).text.split("\n") == PROSE


def test_a_lead_above_the_headline_is_text() -> None:
    title = "Rain closes the lower road for the whole week"
    lead = "After a night of rain the council had no choice, and nobody complains."
    html = (
        f"<html><head><title>{title} | News</title></head><body><main><article><header><h2>{lead}</h2>"
        f"<h1>{title}</h1></header>{TEXT}</article></main></body></html>"
    )
    assert read(html.encode()).text.split("\n") == [lead, *PROSE]


LEAD = "After a night of rain the council had no choice, and nobody complains about it in the town."


@pytest.mark.parametrize(
    "body",
    [
        "<h2>{LEAD}</h2>{TEXT}",
        "<div class=lead>{LEAD}</div>{TEXT}",
        "<h2>{LEAD}</h2><p>{LEAD}</p>{TEXT}",
        "<div class=sub>{LEAD}</div><div class=text><p><strong>{LEAD}</strong></p>{TEXT}</div>",
        "<figure><img src=/r.jpg><figcaption>A road</figcaption></figure><div class=chapo>{LEAD}</div>{TEXT}",
    ],
)
def test_the_lead_is_in_the_text_once(body: str) -> None:
    article = read(page(body=body.replace("{LEAD}", LEAD).replace("{TEXT}", TEXT)))
    assert article.text.split("\n") == [LEAD, *PROSE]


def test_a_summary_in_a_menu_is_not_text() -> None:
    menu = f"<header><nav><div class=ai><h4>Summary</h4><p>{LEAD}</p></div></nav></header>"
    html = page(head=f'<meta name=description content="{LEAD}">').replace(b"<body>", f"<body>{menu}".encode())
    assert read(html).text.split("\n") == PROSE


def test_a_notice_in_a_side_column_is_not_text() -> None:
    notice = (
        "This part of the paper has texts that were first printed elsewhere. Rights stay with the owners."
    )
    html = page(body=f"<p>{PROSE[0]}</p><p>{PROSE[1]}</p>").replace(
        b"</body>",
        f"<div id=side><div id=main-sidebar><h2>About</h2><p>{notice}</p></div></div></body>".encode(),
    )
    assert read(html).text.split("\n") == PROSE[:2]


def test_a_box_named_after_a_side_column_may_hold_the_article() -> None:
    html = page(h1="", body=f"<div class='content sidebar-left'>{TEXT}</div>")
    assert read(html).text.split("\n") == PROSE


@pytest.mark.parametrize(
    "line",
    [
        "(adsbygoogle = window.adsbygoogle || []).push({});",
        "googletag.cmd.push(function() { googletag.display('ad-3'); });",
        "[embed]https://video.example/watch?v=3[/embed]",
        "Advertisement – article continues below",
    ],
)
def test_code_of_advertisements_is_not_text(line: str) -> None:
    assert line not in read(page(body=f"{TEXT}<p>{line}</p>{TEXT}")).text


@pytest.mark.parametrize(
    "box",
    [
        "<div class=author-bio><img src=a.jpg><p>{}</p></div>",
        "<section class='about-the-author'><h4>Al Roe</h4><p>{}</p></section>",
        "<div class=popup role=tooltip><p>{}</p></div>",
        "<span class='name'>Roe</span><div class='person-tooltip'><p>{}</p></div>",
    ],
)
def test_notes_on_people_are_not_text(box: str) -> None:
    note = "Al Roe was born in the valley and has written about roads and bridges since 2004."
    article = read(page(body=f"<p>{PROSE[0]}</p>{box.format(note)}{TEXT}"))
    assert note not in article.text
    assert PROSE[-1] in article.text


@pytest.mark.parametrize("name", ["newsletter-box", "inline-newsletter", "signup"])
def test_an_invitation_to_a_newsletter_is_not_text(name: str) -> None:
    offer = "Get the stories of the valley every morning, and agree to our terms by giving your address."
    box = f"<div class='{name}'><h4>A letter a day</h4><p>{offer}</p></div>"
    assert read(page(body=f"<p>{PROSE[0]}</p>{box}{TEXT}")).text.split("\n").count(offer) == 0


def test_a_profile_may_be_the_article() -> None:
    assert PROSE[0] in read(page(body=f"<div class=bio>{TEXT}</div>")).text


@pytest.mark.parametrize("items", [2, 4])
def test_a_list_of_links_that_a_sentence_introduces_is_text(items: int) -> None:
    names = [f"Road number {number} by the mill" for number in range(items)]
    links = "".join(f"<li><a href=/road/{number}>{name}</a></li>" for number, name in enumerate(names))
    lead = "<p>The council asks all drivers to use these roads for the time being:</p>"
    text = read(page(body=f"<p>{PROSE[0]}</p>{lead}<ul>{links}</ul>{TEXT}")).text
    assert all(name in text for name in names)
    text = read(page(body=f"<p>{PROSE[0]}</p><p>Read also:</p><ul>{links}</ul>{TEXT}")).text
    assert not any(name in text for name in names)


@pytest.mark.parametrize(
    "heading", ["<h3><a name=x>Costs of it</a></h3>", "<a id=y><h3>Costs of it</h3></a>"]
)
def test_a_heading_that_is_the_target_of_a_link_is_text(heading: str) -> None:
    assert "Costs of it" in read(page(body=f"{TEXT}{heading}{TEXT.replace('the', 'a')}")).text


NOTE = (
    "The old mill has a new wheel since Monday, and whoever wants to see it turn can come on any Sunday,"
    " says the miller."
)
ABOUT = (
    "The Mill Blog was started by two brothers who could not sleep next to a river without writing about it. "
    "They grind, they write, and they have been nominated twice for the small prize of the upper valley."
)
SIDES = [
    "<div class=sidebar><h2>About me</h2><p>{}</p><p>{}</p></div>",
    "<div id=s><dl><dt>About the brothers<dd>{}</dd></dl><div class=textwidget>{}</div></div>",
    "<div class=commentlist><p>{}</p><p>{}</p></div>",
]


@pytest.mark.parametrize("title", ["{} | The Mill Blog", "The Mill Blog: {}", "{}"])
@pytest.mark.parametrize("side", SIDES)
def test_a_short_note_below_its_headline_comes_before_longer_texts_elsewhere(side: str, title: str) -> None:
    head = "A new wheel for the old mill"
    own = f"<div class=post><h3 class=post-title>{head}</h3><div class=post-body>{NOTE}</div></div>"
    logo = "<div id=header><h1><a href=/>The Mill Blog</a></h1></div>"
    markup = f"<title>{title.format(head)}</title><body>{logo}{side.format(ABOUT, ABOUT[::-1])}{own}</body>"
    assert read(markup.encode()).text == NOTE
