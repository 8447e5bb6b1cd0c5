"""The pages are complete in each language: texts, plural forms, numbers and dates."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from lxml import html

from newsbot.apps.search.articles import searching
from newsbot.apps.web.dashboard import rendering
from newsbot.apps.web.dashboard.rendering import (
    LANGUAGES,
    counted_text,
    number_text,
    parsed,
    read_catalogue,
    said,
    sentence,
    span,
)
from newsbot.apps.web.dashboard.service import MORE_PAGES, PAGES
from newsbot.storage.articles import story_id
from tests.catalogues import messages
from tests.dashboarddata import SITE, address, fill, write_events
from tests.dashboards import TOKEN, Visitor, settings_of, visit

TRANSLATED = [code for code in LANGUAGES if code != "en"]
FIELD = re.compile(r"\{\w+\}")
DATE = ("{day}", "{month}", "{number}", "{year}")
"""Values of the message for dates; each language uses some of them."""
SHOWN = (
    *(path for path, *_ in (*PAGES, *MORE_PAGES)),
    "/articles?q=bridge+nowhere",
    f"/article?url={quote(address(0), safe='')}",
    "/attention?q=bridge&q=mayor",
    f"/stories/{story_id(address(1))}",
    f"/sources/{SITE}",
    "/sources/new",
    f"/monitor/{SITE}",
    f"/why?url={quote(address(0), safe='')}",
    f"/why?url={quote(address(1), safe='')}",
    "/why?url=nothing",
    "/login",
    "/nowhere",
)
OURS = re.compile(
    r"newsbot|scrapy|NEWSBOT_\w+|OpenAPI|Atom|RSS|CSV|JSON|OPML|UTC|API|robots\.txt|deny|delay|scrapyd"
    r"|title|url|text|source|word|phrase|OR|AND|websub|json-ld|rule|bridge|nowhere|nothing|crawl|news|html"
    r"|http\S*|mayor|plain|Ann Lee|Bridge number|opened|New plain|Bridges|silent plain|worker plain"
)
"""Words that are the same in all languages: names, settings, keys of rules and what the test itself wrote."""


@pytest.fixture(params=TRANSLATED)
def code(request: pytest.FixtureRequest) -> Any:
    token = rendering._current.set(LANGUAGES[request.param])
    yield request.param
    rendering._current.reset(token)


@pytest.mark.parametrize("name", TRANSLATED)
def test_each_catalogue_has_all_messages_and_no_others(name: str) -> None:
    entries = read_catalogue(name)
    assert set(messages()) - entries.keys() == set(), "run: python -m tests.catalogues"
    assert entries.keys() - set(messages()) - {("", "")} == set(), "run: python -m tests.catalogues"
    (header,) = entries["", ""]
    forms = int(header.partition("nplurals=")[2].partition(";")[0])
    for (one, many), texts in entries.items():
        if not one:
            continue
        assert len(texts) == (forms if many else 1), one
        assert all(texts), f"{one}: no translation"
        for text in texts:
            # a form for the number 1 may leave the number out
            assert set(FIELD.findall(text)) <= {*FIELD.findall(one + many), *DATE}, one
            assert many or "{day}" in one or set(FIELD.findall(text)) == set(FIELD.findall(one)), one
            assert text.count("<") == one.count("<"), one


def test_pages_have_no_english_text_in_another_language(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(settings)
    write_events(settings)
    with searching(settings) as search:
        search.follow()
    left: dict[str, set[str]] = {}

    async def check(visitor: Visitor) -> None:
        await visitor.post("/login", {"token": TOKEN, "back": "/"})
        for path in SHOWN:
            answer, text = await visitor.get(path, Accept_Language="ru-RU,ru;q=0.9,en;q=0.8")
            tree: Any = html.document_fromstring(text)
            assert tree.get("lang") == "ru"
            assert answer.status in (200, 400, 404)
            # what sites and users have written, and commands
            foreign = "//*[@dir='auto' or self::bdi or self::code or self::pre or self::ins or self::del]"
            for one in tree.xpath(f"{foreign} | //*[@lang!='ru' and @lang] | //script | //a[@rel]"):
                if one.tag != "html":
                    one.clear(keep_tail=True)
            for one in tree.xpath("//nav[contains(@class, 'tongues')]"):
                one.clear()
            for label in tree.xpath("//text() | //@aria-label | //@title | //@placeholder"):
                words = OURS.sub("", re.sub(r"\S*[./@_=-]\S*", "", " ".join(label.split())))
                if re.search(r"[A-Za-z]{3,}", words):
                    left.setdefault(words.strip(), set()).add(path)

    visit(settings, check, token=TOKEN)
    assert left == {}


def test_the_language_is_chosen_by_the_browser_or_by_the_reader(tmp_path: Path) -> None:
    async def check(visitor: Visitor) -> None:
        choices = {"de-AT": "de", "fr,ru;q=0.5,de;q=0.7": "de", "fr": "en", ";q=x,ru": "ru"}
        for accepted, chosen in choices.items():
            _, text = await visitor.get("/login", Accept_Language=accepted)
            assert f'<html lang="{chosen}"' in text
        _, text = await visitor.get("/stories?collection=x", Accept_Language="de")
        assert 'href="/language/ru?back=%2Fstories%3Fcollection%3Dx"' in text
        answer, _ = await visitor.get("/language/ru?back=%2Fstories%3Fcollection%3Dx")
        assert (answer.status, answer.headers["Location"]) == (303, "/stories?collection=x")
        _, text = await visitor.get("/stories", Accept_Language="de")
        assert '<html lang="ru"' in text
        answer, _ = await visitor.get("/language/en?back=//evil.test")
        assert answer.headers["Location"] == "/"
        assert (await visitor.get("/language/xx"))[0].status == 404
        _, text = await visitor.get("/api/sources/none.test", Accept_Language="ru")
        assert "is not a site" in json.loads(text)["error"]  # programs get English

    visit(settings_of(tmp_path), check)


def test_numbers_plural_forms_and_dates_follow_the_language(code: str) -> None:
    at = datetime(2026, 3, 5, 14, 7, tzinfo=UTC)
    expected = {
        "ru": (
            ["1 статья", "2 статьи", "5 статей", "21 статья", "1\u00a0234 статьи"],
            "3,5\u00a0ч",
            "5 мар. 2026 г., 14:07",
        ),
        "de": (
            ["1 Artikel", "2 Artikel", "5 Artikel", "21 Artikel", "1.234 Artikel"],
            "3,5\u00a0h",
            "5.03.2026, 14:07",
        ),
    }[code]
    counts = [counted_text(number, "article") for number in (1, 2, 5, 21, 1234)]
    assert (counts, span(12600.0), rendering.moment(at)) == expected
    assert rendering.moment(at, "day") == expected[2].partition(",")[0]
    assert number_text(None) == "-"


@pytest.mark.parametrize(
    ("text", "russian"),
    [
        ("54 of 54 sites: the host name does not resolve", "54 из 54 сайта: имя хоста не находится"),
        (
            "3 of 3 sites (of 12 sites in all): no answer in time (2), HTTP 503 (1)",
            "3 из 3 сайта (всего сайтов: 12): нет ответа вовремя (2), HTTP 503 (1)",
        ),
        ("the queue is late", "очередь опаздывает"),
        (
            "2 sites, 1 worker, 1,204 articles stored this hour",
            "2 сайта, 1 процесс, за этот час: 1\u00a0204 статьи",
        ),
        ("2026-11-20 10:00:00 (5 min ago)", "20 нояб. 2026 г., 10:00 UTC (5 мин назад)"),
        ("The end of the world (version 1 of 2)", "The end of the world (версия 1 из 2)"),
        ("a text that nobody has translated", "a text that nobody has translated"),
        ("", ""),
    ],
)
def test_sentences_of_other_parts_are_translated(text: str, russian: str) -> None:
    token = rendering._current.set(LANGUAGES["ru"])
    try:
        assert sentence(text) == russian
        assert said("\x1b" + text) == russian
    finally:
        rendering._current.reset(token)


def test_values_are_escaped_and_messages_are_not() -> None:
    assert rendering.translate("a {b}", b="<i>") == "a &lt;i&gt;"
    assert sentence("the queue is late") == "the queue is late"  # English needs no catalogue


def test_a_catalogue_is_read_with_its_continued_lines() -> None:
    text = 'msgid ""\nmsgstr "x"\n\n# a note\nmsgid "a"\n"b\\n"\nmsgstr "c"\n'
    text += '\nmsgid "one"\nmsgid_plural "many"\nmsgstr[0] "x"\nmsgstr[1] "y"\n'
    found = parsed(text)
    assert found["ab\n", ""] == ["c"]
    assert found["one", "many"] == ["x", "y"]
