"""Faults in the markup of pages, as the monitor counts and shows them."""

from __future__ import annotations

import pytest

from newsbot.apps.monitor.page_check import MOST_ERRORS, faults_in, read_faults, written_faults

GOOD = (
    "<!doctype html><html lang=en><head><title>Bridge</title><meta name=description content='It is open.'>"
    "</head><body><header>News</header><main><article><h1>Bridge</h1><p>Open.</p></article></main></body></html>"
)


def test_a_page_of_html_5_without_faults() -> None:
    assert faults_in(GOOD, "https://news.test/") == {}
    assert written_faults(faults_in(GOOD, "https://news.test/")) == ""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("<p>Open.</p>", "<p>Open.</b></i></p>", "errors:2"),
        ("<title>Bridge</title>", "<title> </title>", "no_title:1"),
        ("content='It is open.'", "content=''", "no_description:1"),
        ("<meta name=description", "<meta property=og:description", ""),
        (" lang=en", "", "no_language:1"),
        ("<p>", "<img src=http://a.test/1.png><p>", "mixed_content:1"),
        ("<p>", "<link rel='preload stylesheet' href=http://a.test/1.css><p>", "mixed_content:1"),
        ("<p>", "<a href=http://a.test/><img src=//a.test/1.png></a><p>", ""),
        ("<h1>Bridge", "<h1>Page not found", "error_page:1"),
        ("<title>Bridge", "<title>Страница не найдена", "error_page:1"),
    ],
)
def test_faults(old: str, new: str, expected: str) -> None:
    assert old in GOOD
    assert written_faults(faults_in(GOOD.replace(old, new), "https://news.test/")) == expected


def test_only_pages_by_https_have_mixed_content() -> None:
    html = GOOD.replace("<p>", "<img src=http://a.test/1.png><p>")
    assert faults_in(html, "http://news.test/") == {}


@pytest.mark.parametrize(
    "html", ["", "\0", "<", "<" * 50_000, "<p>" * 100_000, "<?xml version='1.0' encoding='x'?><p>"]
)
def test_any_text_is_checked(html: str) -> None:
    faults_in(html, "https://news.test/")


def test_errors_are_counted_up_to_a_limit() -> None:
    assert faults_in(GOOD.replace("Open.", "Open.</b>" * 500), "http://news.test/")["errors"] <= MOST_ERRORS


def test_stored_faults_are_read_again() -> None:
    assert read_faults("errors:3 no_title:1") == {"errors": 3, "no_title": 1}
    assert read_faults("errors:x other:1 no_title") == {}
