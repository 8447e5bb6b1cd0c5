"""International host names: people read and write them in their own script, programs and data use ASCII."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest

from newsbot.items import Kind
from newsbot.storage.base import SourceRecord
from newsbot.urls import ascii_host, host_in_letters
from tests.commandline import Place, article
from tests.dashboards import Visitor, visit

LETTERS, ASCII = "новости.example", "xn--b1amnebsh.example"
PAGE = f"https://{ASCII}/n/1"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("idn"))
    with place.storage() as storage:
        storage.articles.store(article(1, url=PAGE, canonical_url=PAGE, source=ASCII))
        feed = SourceRecord(url=f"https://{ASCII}/rss.xml", source=ASCII, kind=Kind.FEED, polls=1, failures=1)
        storage.sources.save([feed])
    with place.frontier():
        pass
    return place


@pytest.mark.parametrize("name", [LETTERS, ASCII, "Новости.Example"])
@pytest.mark.parametrize(
    "words",
    [
        ("sources", "{name}"),
        ("articles", "search", "harbour", "--source", "{name}"),
        ("articles", "show", "https://{name}/n/1"),
        ("why", "https://{name}/n/1"),
        ("rules", "show", "https://{name}/n/1"),
        ("remove", "{name}"),
    ],
)
def test_commands_take_both_forms_and_show_letters(place: Place, words: tuple[str, ...], name: str) -> None:
    answer = place.run(*(word.format(name=name) for word in words))
    assert answer.code == 0, answer.err
    assert LETTERS in answer.out
    assert "xn--" not in answer.out + answer.err


@pytest.mark.parametrize("name", [LETTERS, ASCII])
def test_machine_output_has_the_ascii_form(place: Place, name: str) -> None:
    (found,) = place.run("articles", "search", "harbour", "--source", name, "--json").json
    assert (found["source"], found["canonical_url"]) == (ASCII, PAGE)
    exported = place.run("articles", "export", "--source", name)
    assert exported.err == "1 article exported\n"
    assert f'"source": "{ASCII}"' in exported.out
    (site,) = place.run("sources", name, "--json").json["sites"]
    assert site["site"] == ASCII


def test_an_unmonitored_site_without_a_rule_is_named_in_letters(place: Place) -> None:
    answer = place.run("monitor", "show", LETTERS)
    assert answer.code == 1
    assert answer.err.startswith(f"{LETTERS}: was not monitored")


@pytest.mark.parametrize(
    ("letters", "ascii_form"),
    [
        (LETTERS, ASCII),
        ("правда.рф", "xn--80aafi6cg.xn--p1ai"),
        ("example.org", "example.org"),
        ("127.0.0.1:8099", "127.0.0.1:8099"),
        ("", ""),
    ],
)
def test_both_forms_can_be_converted_into_each_other(letters: str, ascii_form: str) -> None:
    assert ascii_host(letters) == ascii_host(ascii_form) == ascii_form
    assert host_in_letters(ascii_form) == letters


@pytest.mark.parametrize("name", ["xn--", "xn--a", "xn--zzzzzz99999"])
def test_names_that_do_not_represent_letters_are_unchanged(name: str) -> None:
    assert host_in_letters(name) == name


def test_the_dashboard_shows_letters_and_its_api_the_ascii_form(place: Place) -> None:
    async def check(visitor: Visitor) -> None:
        name = quote(LETTERS)
        pages = ("/sources", f"/sources?site={name}", f"/sources/{name}", f"/articles?source={name}")
        for page in (*pages, f"/sources/{ASCII}", f"/why?url=https://{name}/n/1"):
            answer, html = await visitor.get(page)
            assert answer.status == 200, page
            assert LETTERS in html, page
            text = re.sub(r"<[^>]*>", " ", html)
            assert "xn--" not in text, page
        for form in (name, ASCII):
            _, found = await visitor.get(f"/api/articles?source={form}")
            assert f'"{ASCII}"' in found
            assert json.loads(found)

    visit(place.environment, check)
