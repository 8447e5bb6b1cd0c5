"""How far a site's canonical URLs are trusted, and how workers share this knowledge."""

from __future__ import annotations

from itertools import count

import pytest

from newsbot.sites.canonical_trust import NOTE_KIND, WINDOW, CanonicalTrust, Word, word_of

SITE = "news.test"


@pytest.mark.parametrize(
    ("right", "wrong", "word"),
    [
        (0, 0, Word.UNPROVEN),
        (2, 0, Word.UNPROVEN),
        (3, 0, Word.GOOD),
        (0, 1, Word.BAD),
        (9, 1, Word.BAD),
        (10, 1, Word.GOOD),
        (19, 2, Word.BAD),
    ],
)
def test_trust_in_claims_follows_their_results(right, wrong, word):
    assert word_of([False] * wrong + [True] * right) is word


PAGES = count()


def see(desk, claims, *correct):
    """Let new pages make claims; ``correct``: whether each claim is correct."""
    for right in correct:
        claims.saw(desk.context.notes, SITE, f"https://{SITE}/{next(PAGES)}", right=right)


def test_results_of_claims_count_immediately_and_are_stored(desk):
    notes, claims = desk.context.notes, CanonicalTrust()
    see(desk, claims, True, True, True)
    assert claims.word(notes, SITE) is Word.GOOD
    assert CanonicalTrust().word(notes, SITE) is Word.UNPROVEN
    claims.write(notes)
    assert CanonicalTrust().word(notes, SITE) is Word.GOOD
    claims.write(notes)
    assert len(notes.all(NOTE_KIND)[SITE]["claims"]) == 3


def test_distrust_of_a_site_is_logged_once(desk, caplog):
    claims = CanonicalTrust()
    see(desk, claims, True, False, False, True)
    messages = [record.getMessage() for record in caplog.records if "not trusted" in record.getMessage()]
    assert len(messages) == 1
    assert f"domain={SITE} page=https://{SITE}/" in messages[0]


def test_workers_share_the_results_of_claims(desk):
    notes, one, other = desk.context.notes, CanonicalTrust(), CanonicalTrust()
    see(desk, one, True, True)
    see(desk, other, True)
    other.write(notes)
    one.write(notes)
    assert one.word(notes, SITE) is Word.GOOD
    see(desk, other, False)
    other.write(notes)
    assert one.word(notes, SITE) is Word.GOOD
    one.write(notes)
    assert one.word(notes, SITE) is Word.BAD


def test_old_claims_are_removed(desk):
    claims = CanonicalTrust()
    see(desk, claims, False, *[True] * WINDOW)
    claims.write(desk.context.notes)
    assert [right for _, right in desk.context.notes.all(NOTE_KIND)[SITE]["claims"]] == [1] * WINDOW


def test_a_page_counts_once_even_if_it_is_fetched_repeatedly(desk):
    notes, claims = desk.context.notes, CanonicalTrust()
    for _ in range(9):
        claims.saw(notes, SITE, "https://news.test/1", right=True)
        claims.write(notes)
    assert claims.word(notes, SITE) is Word.UNPROVEN
    claims.saw(notes, SITE, "https://news.test/1?utm_source=x", right=False)
    claims.write(notes)
    assert [right for _, right in notes.all(NOTE_KIND)[SITE]["claims"]] == [0]
    assert claims.word(notes, SITE) is Word.BAD


def test_a_removed_site_leaves_no_claims(desk):
    claims = CanonicalTrust()
    see(desk, claims, True)
    claims.write(desk.context.notes, lambda domain: domain == SITE)
    assert desk.context.notes.all(NOTE_KIND) == {}


@pytest.mark.parametrize("note", [{}, {"claims": None}, {"claims": "111"}, {"claims": 7}, {"claims": [[1]]}])
def test_a_damaged_note_counts_as_no_claims(desk, note):
    desk.context.notes.save(NOTE_KIND, SITE, note)
    claims = CanonicalTrust()
    assert claims.word(desk.context.notes, SITE) is Word.UNPROVEN
    see(desk, claims, True)
    claims.write(desk.context.notes)
    [(_page, right)] = desk.context.notes.all(NOTE_KIND)[SITE]["claims"]
    assert right == 1
