"""Tables on a terminal and in a pipe."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from newsbot.cli.terminal import (
    Column,
    clean,
    columns,
    counted,
    make_console,
    one_line,
    plain_table,
    print_table,
    when,
)

COLUMNS = (Column("n", "right"), Column("title", wide=True), Column("url", wide=True))
URL = "https://example.org/" + "x" * 200
ROWS = [(5, "[red]Title :smile: with\nlines", URL), (1234, None, "y")]


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    print_table(console, COLUMNS, ROWS)
    return console.file.getvalue()


def test_a_pipe_gets_complete_rows_without_colour() -> None:
    lines = shown(make_console(io.StringIO())).splitlines()
    assert len(lines) == 3
    assert lines[1] == f"   5  [red]Title :smile: with lines  {URL}"
    assert lines[2].split() == ["1234", "y"]


def test_a_narrow_terminal_shows_wide_cells_below_their_row() -> None:
    text = re.sub(r"\x1b\[\d*m", "", shown(terminal(width=40)))
    lines = text.splitlines()
    assert [line.strip() for line in lines[:3]] == ["n", "5", "title: [red]Title :smile: with lines"]
    assert lines[3].strip() == "url:"
    assert lines[4].startswith("    https://example.org/xxx")
    assert text.count("x") >= 200
    assert all(len(line) <= 40 for line in lines)
    assert "None" not in text


def test_long_headings_above_short_cells_take_two_lines() -> None:
    console = terminal()
    print_table(console, (Column("next poll of it", "right"), Column("b")), [("1", "2")])
    assert isinstance(console.file, io.StringIO)
    plain = re.sub(r"\x1b\[\d*m", "", console.file.getvalue())
    assert [line.split() for line in plain.splitlines()[:2]] == [["next", "poll"], ["of", "it", "b"]]


def terminal(**options: object) -> Console:
    values = {"file": io.StringIO(), "force_terminal": True, "width": 60, "highlight": False} | options
    return Console(**values)  # type: ignore[arg-type]


def test_a_terminal_shows_wrapped_cells_without_truncation() -> None:
    text = shown(terminal(no_color=True))
    assert all(len(re.sub(r"\x1b\[\d*m", "", line)) <= 60 for line in text.splitlines())
    assert text.count("x") >= 200
    assert "…" not in text
    assert "[red]Title" in text


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in shown(terminal(color_system="standard"))


def test_wide_letters_keep_columns_straight() -> None:
    lines = plain_table((Column("a"), Column("b")), [("日本", "x"), ("abcd", "y")])
    assert lines == ["a     b", "日本  x", "abcd  y"]


def test_control_characters_of_pages_are_removed() -> None:
    assert clean("a\x1b[31mb\x9b1mc\x07\u202ed\te\n") == "a[31mb1mcd\te\n"
    assert one_line("a\r\n\tb\u2028c  ") == "a b c"


def test_secrets_of_urls_are_not_shown() -> None:
    url = "https://u:pw@a.test/f?token=abc&page=2"
    masked = "https://***@a.test/f?token=***&page=2"
    assert one_line(url) == masked
    assert plain_table(COLUMNS, [(1, "x", url)])[1].endswith(masked)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (1000.0, "0 s ago"),
        (901.0, "99 s ago"),
        (700.0, "5 min ago"),
        (1000.0 + 3 * 3600, "in 3 h"),
        (1000.0 + 5 * 86400, "in 5 d"),
        (1000.0 + 400 * 86400, "1971-02-05"),
    ],
)
def test_when(seconds: float | None, text: str) -> None:
    assert when(seconds, 1000.0) == text


# --- narrow terminals
WORDS = (
    "site",
    "articles",
    "useful",
    "last",
    "article",
    "duplicates",
    "unchanged",
    "errors",
    "error",
    "sources",
)
SITES = [
    ("xn--b1amnebsh.example", 1234, "98 %", "12 min ago", 12, 345, 6, "http_404", "2 ok, 1 failing"),
    ("example.org", 1, "-", "-", 0, 0, 0, None, "1 ok"),
]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_table_of_many_columns_fits_every_terminal(width: int) -> None:
    from newsbot.apps.operations.sources import SITE_COLUMNS

    console = terminal(width=width, no_color=True)
    print_table(console, SITE_COLUMNS, SITES)
    assert isinstance(console.file, io.StringIO)
    text = re.sub(r"\x1b\[\d*m", "", console.file.getvalue())
    lines = text.splitlines()
    assert all(len(line) <= width for line in lines), text
    heading = text[: text.index("новости")].replace("─", " ").split()
    assert set(heading) <= set(" ".join(column.title for column in SITE_COLUMNS).split()), (
        "words must not be broken"
    )
    for word in ("новости.example", "1234", "http_404", "example.org"):
        assert word in text, text
    left_out = text.partition("columns that do not fit: ")[2]
    for word in ("duplicates", "unchanged", "useful"):
        assert (word in heading) != (word in left_out), text
    assert ("unchanged" in heading) == (width == 120), text


# --- names of hosts
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("xn--b1amnebsh.example", "новости.example"),
        ("https://www.XN--B1AMNEBSH.example:8080/a?b=1", "https://www.новости.example:8080/a?b=1"),
        ("sites: xn--80aafi6cg.xn--p1ai, xn--bcher-kva.example", "sites: правда.рф, bücher.example"),
        ("https://a.test/xn--b1amnebsh-b", "https://a.test/xn--b1amnebsh-b"),  # not the end of a host name
        ("xn--.test xn--a.test xn--zzzzzz99999.test", "xn--.test xn--a.test xn--zzzzzz99999.test"),
    ],
)
def test_hosts_are_shown_in_their_own_script(text: str, shown: str) -> None:
    assert clean(text) == shown
    assert one_line(text) == shown


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "URL", "0 URLs"),
        (1, "URL", "1 URL"),
        (2, "URL", "2 URLs"),
        (12345, "older one", "12,345 older ones"),
    ],
)
def test_a_number_has_the_right_noun(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text


def test_a_plural_can_be_passed() -> None:
    assert [counted(number, "address", "addresses") for number in (1, 2)] == ["1 address", "2 addresses"]


def test_columns_are_named_in_one_text() -> None:
    assert columns("kind | new links > 4 | source * | file 1 | a-b c") == [
        Column("kind"),
        Column("new links", "right", spare=4),
        Column("source", wide=True),
        Column("file", spare=1),
        Column("a-b c"),
    ]
