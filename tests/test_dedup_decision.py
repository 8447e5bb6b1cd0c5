from __future__ import annotations

from itertools import permutations

import pytest

from newsbot.dedup.decision import (
    Decision,
    Neighbour,
    Relation,
    continues,
    decide,
    different_news,
    numbers_in,
)
from newsbot.dedup.index import Near
from newsbot.storage.stories import story_id
from tests.builders import make_article

URL = "https://a.org/new"
NONE = numbers_in("")


def neighbour(
    similarity: float, source: str = "b.org", numbers: str | None = None, story: str | None = "story"
) -> Neighbour:
    near = Near(f"https://{source}/{similarity}", source, similarity)
    return Neighbour(near, story, None if numbers is None else numbers_in(numbers))


def test_a_text_like_no_other_begins_a_story() -> None:
    alone = Decision(story_id(URL), Relation.NEW)
    assert decide(URL, "a.org", NONE, []) == alone
    assert decide(URL, "a.org", NONE, [neighbour(0.49)]) == alone


def test_the_id_of_a_story_never_changes() -> None:
    assert story_id("https://example.org/a") == "4b757696086a596d9e6cd15e49dcf4a9"


@pytest.mark.parametrize("similarity", [0.5, 0.7, 1.0])
def test_a_similar_text_of_another_site_is_a_member(similarity: float) -> None:
    assert decide(URL, "a.org", NONE, [neighbour(similarity)]) == Decision(
        "story", Relation.MEMBER, None, similarity, (f"https://b.org/{similarity}",)
    )


def test_a_text_that_is_similar_to_two_stories_merges_them() -> None:
    near = [neighbour(0.6, story="s1"), neighbour(0.7, "c.org", story="s2"), neighbour(0.4, story="s3")]
    found = decide(URL, "a.org", NONE, near)
    assert (found.story, found.relation) == ("s2", Relation.MEMBER)
    assert found.peers == ("https://b.org/0.6", "https://c.org/0.7")


@pytest.mark.parametrize(
    ("contained", "exact", "relation"),
    [
        (0.61, None, Relation.NEW),
        (0.62, None, Relation.DERIVED),
        (0.9, (0.3, 0.5), Relation.NEW),
        (0.56, (0.3, 0.7), Relation.DERIVED),
    ],
)
def test_an_excerpt_starts_a_story_and_names_its_source(
    contained: float, exact: tuple[float, float] | None, relation: Relation
) -> None:
    near = Near("https://b.org/whole", "b.org", 0.3, contained)
    found = decide(URL, "a.org", NONE, [Neighbour(near, "story", None, exact)])
    assert (found.story, found.relation, found.peers) == (story_id(URL), relation, ())
    assert found.derived_from == ((near.doc_id,) if relation is Relation.DERIVED else ())


def test_all_sources_of_a_text_are_named_also_by_a_member() -> None:
    parts = [
        Neighbour(Near(f"https://b.org/{n}", "b.org", 0.2), f"s{n}", None, (0.2, 0.7 + n / 100))
        for n in range(25)
    ]
    named = tuple(f"https://b.org/{n}" for n in range(24, 4, -1))
    found = decide(URL, "a.org", NONE, parts)
    assert (found.relation, found.derived_from) == (Relation.DERIVED, named)
    found = decide(URL, "a.org", NONE, [*parts, neighbour(0.8, story="s")])
    assert (found.relation, found.story, found.derived_from) == (Relation.MEMBER, "s", named)


@pytest.mark.parametrize(
    ("likeness", "source", "title", "continued"),
    [
        ((0.3, 0.96), "a.org", "Storm over the coast, live updates", True),
        ((0.3, 0.96), "a.org", "The main news of the day", False),  # a digest
        ((0.3, 0.61), "a.org", "Storm over the coast, live updates", False),
        ((0.3, 0.96), "b.org", "Storm over the coast, live updates", False),
    ],
)
def test_a_text_that_contains_an_older_text_and_has_its_headline_continues_it(
    likeness: tuple[float, float], source: str, title: str, continued: bool
) -> None:
    old = make_article(1, source="a.org", title="Storm over the coast: live updates")
    new = make_article(2, source=source, title=title)
    assert continues(new, old, likeness) is continues(old, new, likeness) is continued


@pytest.mark.parametrize(("longer", "relation"), [(True, Relation.CONTINUES), (False, Relation.MEMBER)])
def test_a_continuation_belongs_to_the_story_of_its_article(longer: bool, relation: Relation) -> None:
    part = Neighbour(Near("https://a.org/1", "a.org", 0.3), "story", None, (0.3, 0.99), longer)
    found = decide(URL, "a.org", NONE, [part])
    assert (found.relation, found.story) == (relation, "story")
    assert found.peers == found.derived_from == ("https://a.org/1",)


def test_a_weak_similarity_alone_names_no_source() -> None:
    """A few random matches with a text ten times as long look like containment."""
    near = Near("https://b.org/digest", "b.org", 0.1, 0.9)
    assert decide(URL, "a.org", NONE, [Neighbour(near, "story")]).relation is Relation.NEW
    known = Neighbour(near, "story", None, (0.09, 0.9))
    assert decide(URL, "a.org", NONE, [known]).relation is Relation.DERIVED


@pytest.mark.parametrize(
    ("estimate", "exact", "relation"),
    [
        (0.46, (0.53, 0.8), Relation.MEMBER),
        (0.58, (0.51, 0.6), Relation.NEW),
        (0.58, (0.51, 0.7), Relation.DERIVED),
        (0.5, (0.52, 0.7), Relation.MEMBER),
    ],
)
def test_the_texts_take_precedence_over_the_estimate(
    estimate: float, exact: tuple[float, float], relation: Relation
) -> None:
    near = Near("https://b.org/like", "b.org", estimate, 0.7)
    found = decide(URL, "a.org", NONE, [Neighbour(near, "story", None, exact)])
    assert (found.relation, found.similarity) == (relation, 0.0 if relation is Relation.NEW else exact[0])


def test_a_revision_is_checked_with_the_texts() -> None:
    near = Near("https://a.org/old", "a.org", 0.92)
    sure = decide(URL, "a.org", NONE, [Neighbour(near, "story", None, (0.89, 0.95))])
    assert (sure.relation, sure.duplicate_of) == (Relation.MEMBER, None)
    assert decide(URL, "a.org", NONE, [Neighbour(near, "story", None, (0.91, 1))]).duplicate_of == near.doc_id


def test_almost_the_same_text_of_the_source_is_a_revision() -> None:
    assert decide(URL, "a.org", NONE, [neighbour(0.89, "a.org")]).relation is Relation.MEMBER
    found = decide(URL, "a.org", NONE, [neighbour(0.93, "a.org"), neighbour(0.97, "b.org", story="best")])
    assert found == Decision("best", Relation.REVISION, "https://a.org/0.93", 0.93, found.peers)
    assert found.peers == ("https://a.org/0.93", "https://b.org/0.97")


def test_a_neighbour_that_is_not_stored_yet_is_a_peer() -> None:
    found = decide(URL, "a.org", NONE, [neighbour(0.8, story=None), neighbour(0.6, "c.org")])
    assert (found.story, found.similarity) == ("story", 0.8)
    assert found.peers == ("https://b.org/0.8", "https://c.org/0.6")
    assert decide(URL, "a.org", NONE, [neighbour(0.8, story=None)]).story == story_id(URL)


def test_the_same_page_under_https_is_not_a_neighbour() -> None:
    itself = Neighbour(Near(URL.replace("https:", "http:"), "a.org", 1.0), "other")
    assert decide(URL, "a.org", NONE, [itself]) == Decision(story_id(URL), Relation.NEW)


def test_the_order_of_neighbours_makes_no_difference() -> None:
    near = [
        neighbour(0.95, "a.org", "1 2", "s1"),
        neighbour(0.95, "c.org", None, "s2"),
        neighbour(0.95, "b.org", "7", "s3"),
        neighbour(0.6, "a.org", None, "s4"),
    ]
    found = {decide(URL, "a.org", numbers_in("1 2 3"), order) for order in permutations(near)}
    peers = tuple(f"https://{source}/0.95" for source in ("a.org", "b.org", "c.org"))
    assert found == {
        Decision("s1", Relation.REVISION, "https://a.org/0.95", 0.95, ("https://a.org/0.6", *peers))
    }


def test_a_template_with_different_numbers_is_different_news() -> None:
    weather = "Завтра в городе {} градусов, ветер {} м/с, давление {} мм."
    today, tomorrow = weather.format(12, 3, 745), weather.format(-5, 7, 760)
    alone = Decision(story_id(URL), Relation.NEW)
    assert decide(URL, "a.org", numbers_in(today), [neighbour(0.95, "a.org", tomorrow)]) == alone
    assert decide(URL, "a.org", numbers_in(today), [neighbour(0.95, "b.org", tomorrow)]) == alone
    reworded = "В Москве 12, в Твери 7, в Туле 5 и в Рязани 3 дома."
    for edited in (reworded, "О том, что 42 человека"):
        elsewhere = decide(URL, "a.org", numbers_in(today), [neighbour(0.95, "b.org", edited)])
        assert (
            elsewhere.relation is Relation.MEMBER
        )  # on another site only numbers in the same positions count


TODAY, TOMORROW = (f"ветер {n} метров, {n + 9} градусов, давление {n + 740} мм" for n in (3, 7))


def test_the_nearest_text_of_a_story_decides() -> None:
    """Two different news articles must not be merged through a copy that lacks their numbers."""
    cut = neighbour(0.6, "b.org", "", "s1")
    other = neighbour(0.8, "a.org", TOMORROW, "s1")
    assert decide(URL, "a.org", numbers_in(TODAY), [cut, other]).relation is Relation.NEW
    nearer = neighbour(0.9, "b.org", "", "s1")
    assert decide(URL, "a.org", numbers_in(TODAY), [nearer, other]).peers == (nearer.near.doc_id,)
    elsewhere = neighbour(0.6, "c.org", "", "s2")
    assert decide(URL, "a.org", numbers_in(TODAY), [elsewhere, other]).peers == (elsewhere.near.doc_id,)
    unknown = neighbour(0.6, "d.org", None, None)
    assert decide(URL, "a.org", numbers_in(TODAY), [unknown, other]).relation is Relation.NEW


def test_a_text_of_another_site_joins_the_nearest_of_texts_that_the_guard_keeps_apart() -> None:
    issues = [neighbour(0.8, "a.org", TODAY, "s1"), neighbour(0.7, "a.org", TOMORROW, "s2")]
    for order in permutations([*issues, neighbour(0.6, "d.org", "", "s3")]):
        found = decide("https://b.org/cut", "b.org", NONE, order)
        assert found.peers == ("https://a.org/0.8", "https://d.org/0.6")


@pytest.mark.parametrize(
    ("one", "other", "alike", "different"),
    [
        ("42 человека погибли", "48 человек погибли", 0.94, False),
        ("42 человека погибли", "48 человек погибли", 0.8, True),  # an obituary has other words too
        ("Лунный календарь на 3 мая", "Лунный календарь на 4 мая", 0.96, True),
        ("Лунный календарь на 3 мая", "Лунный календарь на 3 июня", 0.96, True),
        ("Horoscope for 03.05.2020", "Horoscope for 04.05.2020", 0.96, True),
        ("On 3 May 42 of 100 were hurt", "On 3 May 48 of 100 were hurt", 0.94, False),
        ("42 killed, 100 hurt", "48 killed, 100 hurt", 0.94, False),
        ("42 killed, 100 hurt", "48 killed, 120 hurt", 0.94, True),
    ],
)
def test_a_single_number_is_a_correction_in_almost_the_same_text(
    one: str, other: str, alike: float, different: bool
) -> None:
    assert different_news(numbers_in(one), numbers_in(other), alike) is different
    assert different_news(numbers_in(other), numbers_in(one), alike) is different


@pytest.mark.parametrize(
    ("one", "other", "different"),
    [
        ("", "", False),
        ("5 человек", "", False),
        ("5", "5", False),
        ("5", "6", True),
        ("1 2 3 4", "1 2", False),  # a shortened version
        ("1 2 3 4", "1 2 8 9", True),  # two of six numbers agree: another forecast with the same wind
        ("1 2 3 4", "1 2 3 9", False),
        ("1 2 3 4", "1 2 3 4 5 6 7 8 9", False),  # an update with more details
        ("1 2 3 4", "1 7 8 9", True),
        ("3,5 %", "3,5", False),
        ("10:30", "10:40", True),
    ],
)
def test_the_number_guard(one: str, other: str, different: bool) -> None:
    assert different_news(numbers_in(one), numbers_in(other)) is different
    assert different_news(numbers_in(other), numbers_in(one)) is different


def test_numbers_are_read_as_written_and_bounded() -> None:
    assert numbers_in("В 10:30 — 3,5 % и 1.000.000, итого 7. Дом 5а").written == {
        "10:30",
        "3,5",
        "1.000.000",
        "7",
        "5",
    }
    assert len(numbers_in(" ".join(map(str, range(5000)))).written) == 1000
    assert len(numbers_in("1" * 3_000_000).written) == 1
