"""Tables, lists, preformatted text and code in articles."""

from __future__ import annotations

import pytest

from tests.extraction_pages import PROSE, TEXT, layout, page, read, rule

ROWS = [
    ("Club", "Games", "Points"),
    ("Northfield", "12", "30"),
    ("Southfield", "12", "27"),
    ("Westfield", "11", "9"),
]
TABLE = "<table>{}</table>".format(
    "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in ROWS)
)
LINES = [" ".join(row) for row in ROWS]
LINKS = "<ul>{}</ul>".format(
    "".join(f"<li><a href='/book/{n}'>The {n}th book of the year by a writer</a></li>" for n in range(10))
)


def paragraph(number: int) -> str:
    return f"<p>{PROSE[number]}</p>"


@pytest.mark.parametrize("markup", ["{}", "<figure class=w><div>{}</div></figure>"])
def test_a_table_between_paragraphs_is_stored_in_rows(markup: str) -> None:
    table = f"<p>The table after the last day:</p>{markup.format(TABLE)}"
    article = read(page(body=f"{paragraph(0)}{table}{paragraph(1)}{paragraph(2)}"))
    lines = article.text.split("\n")
    assert lines == [PROSE[0], "The table after the last day:", *LINES, *PROSE[1:3]]
    assert article.structure["table"] == [2, 3, 4, 5]


def test_a_table_at_the_end_of_the_text_is_stored() -> None:
    assert read(page(body=f"{TEXT}{TABLE}")).text.split("\n")[-4:] == LINES


@pytest.mark.parametrize("box", ["<aside>{}</aside>", "<footer><div>{}</div></footer>"])
def test_a_table_of_other_matter_is_not_stored(box: str) -> None:
    html = page().replace(b"</article>", f"</article>{box.format(TABLE)}".encode())
    assert "Southfield" not in read(html).text
    inside = page(body=f"{TEXT}{box.format(TABLE)}")
    assert "Southfield" not in read(inside).text


def test_a_table_that_is_the_layout_of_the_page_is_not_joined() -> None:
    body = f"<table><tr><td>Menu</td><td>{TEXT}</td></tr><tr><td>x</td><td>y</td></tr></table>"
    assert read(page(body=body)).text.split("\n") == PROSE


def test_a_list_of_links_between_paragraphs_is_stored() -> None:
    article = read(page(body=f"{paragraph(0)}{LINKS}{paragraph(1)}{paragraph(2)}"))
    lines = article.text.split("\n")
    assert lines[0] == PROSE[0]
    assert lines[1:11] == [f"The {n}th book of the year by a writer" for n in range(10)]
    assert article.structure["item"] == list(range(1, 11))


@pytest.mark.parametrize(
    "markup",
    [
        "<ul><li>a gate</li><li>two walls</li></ul>",
        "<ol><li>a gate<li>two walls</ol>",
        "<dl><dt>a gate</dt><dd>two walls</dd></dl>",
    ],
)
def test_a_list_of_a_few_words_between_paragraphs_is_stored(markup: str) -> None:
    article = read(page(body=f"{paragraph(0)}{paragraph(1)}{markup}{paragraph(2)}"))
    assert article.text.split("\n") == [*PROSE[:2], "a gate", "two walls", PROSE[2]]


def test_a_list_of_links_below_the_text_is_not_stored() -> None:
    assert "writer" not in read(page(body=f"{TEXT}{LINKS}")).text


@pytest.mark.parametrize("selected", [False, True])
def test_preformatted_text_keeps_its_lines(selected: bool) -> None:
    wrapped = PROSE[3].replace("before ", "before\n")
    poem = "Roses are red\nViolets are blue"
    html = page(body=f"<pre>{PROSE[0]}\n\n{PROSE[1]}\n \n{poem}\n\n{PROSE[2]}</pre><pre>{wrapped}</pre>")
    article = read(html, rule=rule(layout(text="article pre"))) if selected else read(html)
    assert article.text.split("\n")[:5] == [PROSE[0], PROSE[1], "Roses are red", "Violets are blue", PROSE[2]]


@pytest.mark.parametrize(
    "line",
    [
        ".ad_4{margin:0;padding:0} @media print { .ad_4 { display:none } }",
        "window.ads.push(function() { window.ads.show('box-3'); });",
        "let slot = {id: 4, name: 'x'};",
        '[caption id="a_1" align="left"]',
        "[gallery ids='4,5']",
        "4 min read",
        "Read time: 4 minutes",
        "阅读时间：4分钟",
        "Share full article",
        "Posted by A. Clerk 3 hours ago / (0 comments)",
    ],
)
def test_code_and_furniture_between_paragraphs_are_not_text(line: str) -> None:
    article = read(page(body=f"{paragraph(0)}<p>{line}</p>{paragraph(1)}{paragraph(2)}{paragraph(3)}"))
    assert article.text.split("\n") == PROSE


def test_code_that_the_page_shows_as_code_is_text() -> None:
    code = "function add(one, two) { return one + two; }"
    assert code in read(page(body=f"{paragraph(0)}{paragraph(1)}<pre>{code}</pre>{paragraph(2)}")).text
