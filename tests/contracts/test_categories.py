"""Categories are learned from stored articles, and found on other sites; the same in each backend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from newsbot.apps.search.articles import ArticleSearch, matches
from newsbot.apps.search.query import Labels
from newsbot.apps.topics import categories
from newsbot.apps.topics.categories import CategoryField, Definition
from newsbot.errors import ArgumentError
from newsbot.items import Article, ArticleFilter
from newsbot.storage.base import Storage
from newsbot.urls import fingerprint
from tests.contracts.storage_samples import make_article

WORDS = {
    "sport": "goal match striker referee coach league penalty stadium keeper season fans derby",
    "money": "bank shares profit inflation tariff exports revenue bonds investor budget taxes loan",
    "weather": "rain storm frost wind snow clouds forecast thunder hail fog drought sunshine",
}
PLAIN = "the people of the town said on monday that it would be a long day for all of them again"


def text_about(topic: str, chance: Random) -> str:
    """Return a text in which a third of the words are of the topic."""
    return " ".join(
        chance.choice(WORDS[topic].split() if chance.random() < 0.3 else PLAIN.split()) for _ in range(60)
    )


def filed(topic: str, site: str, number: int) -> Article:
    text = text_about(topic, Random(f"{topic}{site}{number}"))
    name = {"sport": "sport", "money": "business"}.get(topic, "weather")
    return make_article(
        f"{name}/{number}", text, source=f"{site}.example", language="en", hours=number, title=f"No {number}"
    )


@pytest.fixture
def filled(storage: Storage) -> Storage:
    for site in ("alpha", "beta", "gamma", "delta"):
        for topic in WORDS:
            for number in range(5):
                storage.articles.store(filed(topic, site, number))
    return storage


@pytest.fixture
def search(filled: Storage, tmp_path: Path) -> Iterator[ArticleSearch]:
    with closing(ArticleSearch(tmp_path / "search.db", filled.articles)) as opened:
        opened.follow()
        yield opened


class OfStorage(CategoryField):
    """Reads the categories of an open storage, each time."""

    def __init__(self, storage: Storage) -> None:
        super().__init__({})
        self._storage = storage

    def _read(self) -> None:
        known = categories.categories(self._storage.notes)
        models = {name: categories.model_of(self._storage.notes, one) for name, one in known.items()}
        self._models = {name: model for name, model in models.items() if model is not None}
        self._version = " ".join(one.digest for one in known.values())


def learned(
    storage: Storage, search: ArticleSearch, name: str, definition: Definition
) -> categories.Category:
    categories.define(storage.notes, name, definition)
    examples, model = categories.learn(storage, search, name)
    return categories.save(storage.notes, name, definition, examples, model)


def test_a_section_names_a_category_that_is_found_on_other_sites(filled, search, monkeypatch):
    monkeypatch.setattr(categories, "FRESH", 0.0)  # the categories are read each time
    learned(filled, search, "money", Definition(sections=("business",)))
    made = learned(filled, search, "sport", Definition(sections=("sport",)))
    assert (made.examples, made.others) == (20, 40)
    assert made.figures.f1 >= 0.9  # on sites whose articles were left out
    labels = Labels({"category": OfStorage(filled)})
    new = make_article("news/1", text_about("sport", Random(1)), source="new.example", language="en", hours=9)
    other = make_article("news/2", text_about("weather", Random(2)), source="new.example", language="en")
    keys = {fingerprint(one.canonical_url): one for one in (new, other)}
    found = matches(keys, {"": "category:sport"}, lambda _tag: (), labels)
    assert found[""] == {fingerprint(new.canonical_url)}
    filled.articles.store(new)
    # an index without categories is rebuilt with them
    with closing(ArticleSearch(search._index.path, filled.articles, labels=labels)) as again:
        again.follow()
        urls = {one.canonical_url for one in again.every("category:SPORT", ArticleFilter())}
        assert new.canonical_url in urls
        assert len(urls) == 21
        assert again.counts("category:sport site:new.example").total == 1
        assert again.label_counts("", ArticleFilter(), "category") == {"sport": 21, "money": 20}
        assert again.explain("category:sprot", found=True) == ["category:sprot: there is no such category"]
        assert categories.forget(filled.notes, "sport")
        again.follow()
        assert again.counts("category:sport").total == 0
        assert filled.notes.all(categories.STEMS)  # those of the other category
        assert categories.forget(filled.notes, "money")
        assert not filled.notes.all(categories.STEMS)


def test_urls_and_queries_name_categories_too(filled, search):
    urls = tuple(
        filed("weather", site, number).canonical_url for site in ("alpha", "beta") for number in range(5)
    )
    by_url = learned(filled, search, "weather", Definition(urls=urls))
    assert by_url.examples == 10
    by_query = learned(filled, search, "money", Definition(query="inflation OR bonds"))
    assert by_query.examples >= 10
    assert by_query.figures.f1 >= 0.7
    known = categories.categories(filled.notes)
    assert known["money"].definition.query == "inflation OR bonds"
    assert known["weather"].definition.urls == urls


def test_what_was_learned_is_the_same_each_time_and_replaces_the_former(filled, search):
    definition = Definition(sections=("sport",))
    first = learned(filled, search, "sport", definition)
    again = learned(filled, search, "sport", definition)
    assert first.digest == again.digest
    filled.articles.store(make_article("sport/new", text_about("money", Random(3)), language="en"))
    changed = learned(filled, search, "sport", definition)
    assert changed.digest != first.digest
    assert {name.partition(" ")[0] for name in filled.notes.all(categories.STEMS)} == {changed.digest}


def test_too_few_examples_are_refused_in_one_sentence(filled, search):
    with pytest.raises(ArgumentError, match="0 stored articles belong to the category"):
        learned(filled, search, "chess", Definition(sections=("chess",)))
    with pytest.raises(ArgumentError, match="letters, digits"):
        categories.define(filled.notes, "two words", Definition(query="x"))
