from __future__ import annotations

from itertools import permutations

import pytest

from newsbot.dedup.decision import Change, Decision, Likeness, Neighbour, Relation, Text, continues, decide
from newsbot.dedup.index import Near
from newsbot.storage.articles import story_id
from tests.builders import make_article

URL = "https://a.org/new"


def neighbour(
    similarity: float,
    source: str = "b.org",
    change: Change | None = None,
    story: str | None = "story",
    text: str | None = None,
) -> Neighbour:
    near = Near(f"https://{source}/{similarity}", source, similarity)
    likeness = None if change is None else Likeness(similarity, similarity, change)
    known = None if text is None else Text(make_article(1, source=source, title="Weather", text=text))
    return Neighbour(near, story, likeness, known)


def test_a_text_like_no_other_begins_a_story() -> None:
    alone = Decision(story_id(URL), Relation.NEW)
    assert decide(URL, "a.org", []) == alone
    assert decide(URL, "a.org", [neighbour(0.49)]) == alone


def test_the_id_of_a_story_never_changes() -> None:
    assert story_id("https://example.org/a") == "4b757696086a596d9e6cd15e49dcf4a9"


@pytest.mark.parametrize("similarity", [0.5, 0.7, 1.0])
def test_a_similar_text_of_another_site_is_a_member(similarity: float) -> None:
    assert decide(URL, "a.org", [neighbour(similarity)]) == Decision(
        "story", Relation.MEMBER, None, similarity, (f"https://b.org/{similarity}",)
    )


def test_a_text_that_is_similar_to_two_stories_merges_them() -> None:
    near = [neighbour(0.6, story="s1"), neighbour(0.7, "c.org", story="s2"), neighbour(0.4, story="s3")]
    found = decide(URL, "a.org", near)
    assert (found.story, found.relation) == ("s2", Relation.MEMBER)
    assert found.peers == ("https://b.org/0.6", "https://c.org/0.7")


@pytest.mark.parametrize(("covered", "relation"), [(0.59, Relation.NEW), (0.6, Relation.DERIVED)])
def test_an_excerpt_starts_a_story_and_names_its_source(covered: float, relation: Relation) -> None:
    near = Near("https://b.org/whole", "b.org", 0.3)
    found = decide(URL, "a.org", [Neighbour(near, "story", Likeness(0.3, covered))])
    assert (found.story, found.relation, found.peers) == (story_id(URL), relation, ())
    assert found.derived_from == ((near.doc_id,) if relation is Relation.DERIVED else ())


def test_a_text_that_is_not_stored_yet_is_no_source() -> None:
    near = Near("https://b.org/digest", "b.org", 0.4)
    assert decide(URL, "a.org", [Neighbour(near, "story")]).relation is Relation.NEW


def test_all_sources_of_a_text_are_named_also_by_a_member() -> None:
    parts = [
        Neighbour(Near(f"https://b.org/{n}", "b.org", 0.2), f"s{n}", Likeness(0.2, 0.7 + n / 100))
        for n in range(25)
    ]
    named = tuple(f"https://b.org/{n}" for n in range(24, 4, -1))
    found = decide(URL, "a.org", parts)
    assert (found.relation, found.derived_from) == (Relation.DERIVED, named)
    found = decide(URL, "a.org", [*parts, neighbour(0.8, story="s")])
    assert (found.relation, found.story, found.derived_from) == (Relation.MEMBER, "s", named)


@pytest.mark.parametrize(
    ("likeness", "source", "title", "continued"),
    [
        ((0.3, 0.96), "a.org", "Storm over the coast, live updates", True),
        ((0.3, 0.96), "a.org", "The main news of the day", False),  # a digest
        ((0.3, 0.59), "a.org", "Storm over the coast, live updates", False),
        ((0.3, 0.96), "b.org", "Storm over the coast, live updates", False),
    ],
)
def test_a_text_that_contains_an_older_text_and_has_its_headline_continues_it(
    likeness: tuple[float, float], source: str, title: str, continued: bool
) -> None:
    old = make_article(1, source="a.org", title="Storm over the coast: live updates")
    new = make_article(2, source=source, title=title)
    assert continues(new, old, Likeness(*likeness)) is continued
    assert continues(old, new, Likeness(*likeness)) is continued


@pytest.mark.parametrize(("longer", "relation"), [(True, Relation.CONTINUES), (False, Relation.MEMBER)])
def test_a_continuation_belongs_to_the_story_of_its_article(longer: bool, relation: Relation) -> None:
    part = Neighbour(Near("https://a.org/1", "a.org", 0.3), "story", Likeness(0.3, 0.99), continued=longer)
    found = decide(URL, "a.org", [part])
    assert (found.relation, found.story) == (relation, "story")
    assert found.peers == found.derived_from == ("https://a.org/1",)


@pytest.mark.parametrize(
    ("estimate", "exact", "relation"),
    [
        (0.46, (0.53, 0.8), Relation.MEMBER),
        (0.58, (0.51, 0.55), Relation.NEW),
        (0.58, (0.51, 0.7), Relation.DERIVED),
        (0.5, (0.52, 0.7), Relation.MEMBER),
    ],
)
def test_the_texts_take_precedence_over_the_estimate(
    estimate: float, exact: tuple[float, float], relation: Relation
) -> None:
    near = Near("https://b.org/like", "b.org", estimate)
    found = decide(URL, "a.org", [Neighbour(near, "story", Likeness(*exact))])
    assert (found.relation, found.similarity) == (relation, 0.0 if relation is Relation.NEW else exact[0])


def test_a_revision_is_checked_with_the_texts() -> None:
    near = Near("https://a.org/old", "a.org", 0.92)
    sure = decide(URL, "a.org", [Neighbour(near, "story", Likeness(0.89, 0.95))])
    assert (sure.relation, sure.duplicate_of) == (Relation.MEMBER, None)
    assert decide(URL, "a.org", [Neighbour(near, "story", Likeness(0.91, 1.0))]).duplicate_of == near.doc_id


def test_almost_the_same_text_of_the_source_is_a_revision() -> None:
    assert decide(URL, "a.org", [neighbour(0.89, "a.org")]).relation is Relation.MEMBER
    found = decide(URL, "a.org", [neighbour(0.93, "a.org"), neighbour(0.97, "b.org", story="best")])
    assert found == Decision("best", Relation.REVISION, "https://a.org/0.93", 0.93, found.peers)
    assert found.peers == ("https://a.org/0.93", "https://b.org/0.97")


def test_a_neighbour_that_is_not_stored_yet_is_a_peer() -> None:
    found = decide(URL, "a.org", [neighbour(0.8, story=None), neighbour(0.6, "c.org")])
    assert (found.story, found.similarity) == ("story", 0.8)
    assert found.peers == ("https://b.org/0.8", "https://c.org/0.6")
    assert decide(URL, "a.org", [neighbour(0.8, story=None)]).story == story_id(URL)


def test_the_same_page_under_https_is_not_a_neighbour() -> None:
    itself = Neighbour(Near(URL.replace("https:", "http:"), "a.org", 1.0), "other")
    assert decide(URL, "a.org", [itself]) == Decision(story_id(URL), Relation.NEW)


def test_the_order_of_neighbours_makes_no_difference() -> None:
    near = [
        neighbour(0.95, "a.org", Change.NONE, "s1"),
        neighbour(0.95, "c.org", None, "s2"),
        neighbour(0.95, "b.org", Change.FIGURES, "s3"),
        neighbour(0.6, "a.org", None, "s4"),
    ]
    found = {decide(URL, "a.org", order) for order in permutations(near)}
    peers = tuple(f"https://{source}/0.95" for source in ("a.org", "b.org", "c.org"))
    assert found == {
        Decision("s1", Relation.REVISION, "https://a.org/0.95", 0.95, ("https://a.org/0.6", *peers))
    }


def test_another_filling_of_a_template_is_different_news_and_another_issue_is_a_source() -> None:
    alone = Decision(story_id(URL), Relation.NEW)
    assert decide(URL, "a.org", [neighbour(0.95, "a.org", Change.FILLING)]) == alone
    found = decide(URL, "a.org", [neighbour(0.7, "a.org", Change.ISSUE)])
    assert (found.relation, found.derived_from) == (Relation.DERIVED, ("https://a.org/0.7",))
    assert found.story == story_id(URL)


def test_a_replaced_number_is_an_update_unless_the_text_is_known_to_be_a_template() -> None:
    update, filling = (
        neighbour(0.9, "a.org", Change.FIGURES, "s1"),
        neighbour(0.8, "a.org", Change.FILLING, "s2"),
    )
    assert decide(URL, "a.org", [update]).story == "s1"
    for order in ([update, filling], [filling, update]):
        assert decide(URL, "a.org", order) == Decision(story_id(URL), Relation.NEW)
    elsewhere = neighbour(0.8, "b.org", Change.FILLING, "s2")
    assert decide(URL, "a.org", [update, elsewhere]).story == "s1"


FORECAST = (
    "Over {} the day begins with mist, which will break up towards noon. Temperatures reach {} degrees inland"
    " and stay lower on the coast. The wind is light and comes from the west. In the night a few showers"
    " drift in from the sea, and the outlook promises more sun."
)


def test_a_third_text_shows_that_two_joined_texts_are_fillings_of_a_template() -> None:
    joined = [
        neighbour(value, "a.org", Change.FILLING, "s1", FORECAST.format("Barnley", degrees))
        for value, degrees in ((0.9, 17), (0.88, 19))
    ]
    assert decide(URL, "a.org", joined).mixed == ("s1",)
    equal = [joined[0], neighbour(0.8, "a.org", Change.FILLING, "s1", FORECAST.format("Barnley", 17))]
    assert decide(URL, "a.org", equal).mixed == ()


def test_three_fillings_with_other_names_show_a_template() -> None:
    texts = [
        neighbour(
            value,
            "a.org",
            Change.NAMES,
            f"s{value}",
            FORECAST.replace("{}", "many hills and", 1).format(17) + name,
        )
        for value, name in (
            (0.9, " Thanks to Ada Birch and friends."),
            (0.8, " Thanks to Hugh Lorne and friends."),
        )
    ]
    assert decide(URL, "a.org", texts[:1]).peers == ("https://a.org/0.9",)
    assert decide(URL, "a.org", texts).peers == ()


def test_the_nearest_text_of_a_story_decides() -> None:
    """Two different news articles must not be merged through a copy that lacks their numbers."""
    cut = neighbour(0.6, "b.org", Change.NONE, "s1")
    other = neighbour(0.8, "a.org", Change.FILLING, "s1")
    assert decide(URL, "a.org", [cut, other]).relation is Relation.NEW
    nearer = neighbour(0.9, "b.org", Change.NONE, "s1")
    assert decide(URL, "a.org", [nearer, other]).peers == (nearer.near.doc_id,)
    elsewhere = neighbour(0.6, "c.org", Change.NONE, "s2")
    assert decide(URL, "a.org", [elsewhere, other]).peers == (elsewhere.near.doc_id,)
    unknown = neighbour(0.6, "d.org", None, None)
    assert decide(URL, "a.org", [unknown, other]).relation is Relation.NEW


def test_a_text_of_another_site_joins_the_nearest_of_texts_that_are_different_news() -> None:
    issues = [
        neighbour(value, "a.org", Change.NONE, f"s{value}", FORECAST.format(town, 17))
        for value, town in ((0.8, "Barnley"), (0.7, "Duxton"))
    ]
    cut = neighbour(0.6, "d.org", Change.NONE, "s3", FORECAST[60:])
    for order in permutations([*issues, cut]):
        found = decide("https://b.org/cut", "b.org", order)
        assert found.peers == ("https://a.org/0.8", "https://d.org/0.6")
