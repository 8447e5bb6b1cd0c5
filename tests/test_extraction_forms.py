"""Teasers, live blogs and galleries are detected, and agencies are read in addition to authors."""

from __future__ import annotations

import pytest

from newsbot.pages.extraction.fields.authors import agency_of
from tests.extraction_pages import PROSE, TEXT, json_ld, page, read

CLOSED = '{"@type":"NewsArticle","headline":"x","isAccessibleForFree":%s,"wordCount":%d}'
SHORT = "".join(f"<p>{line}</p>" for line in PROSE[:3])


@pytest.mark.parametrize("value", ["false", '"False"', '"no"'])
def test_a_paid_page_with_few_of_its_words_is_partial(value: str) -> None:
    assert read(page(json_ld(CLOSED % (value, 900)), SHORT)).partial


def test_a_paid_page_with_its_whole_text_is_not_partial() -> None:
    assert not read(page(json_ld(CLOSED % ("false", 60)), TEXT)).partial
    assert not read(page(json_ld(CLOSED % ("true", 900)), SHORT)).partial


def test_a_locked_page_without_a_word_count_is_partial_if_short() -> None:
    tier = '<meta property="article:content_tier" content="locked">'
    assert read(page(tier, SHORT)).partial
    assert not read(page(tier, TEXT * 6)).partial


@pytest.mark.parametrize(
    "offer",
    [
        "Subscribe now to continue reading this article",
        "Sie wollen weiterlesen? Mit einem Abo geht es weiter.",
        "Полный текст доступен по подписке",
        "Il vous reste 80 % de cet article à lire.",
        "Jetzt weiterlesen mit Beispiel+",
        "Suscríbete para seguir leyendo",
        "Abbonati per continuare a leggere",
        "Assine para continuar lendo",
        "Чтобы прочитать статью, оформите подписку",
        "Dalsza część dostępna dla prenumeratorów",
        "Dit artikel is exclusief voor abonnees",
        "Bu içerik abonelere özeldir",
        "이 기사는 유료회원 전용입니다",
        "本文仅供订阅者阅读",
        "Pokračování je pouze pro předplatitele",
        "You have reached your limit of free articles.",
        "To continue reading, subscribe now",
        "La suite est réservée aux abonnés.",
        "Abonnez-vous pour lire la suite",
        "Per continuare a leggere abbonati",
        "Щоб прочитати статтю повністю, оформіть передплату",
        "Logga in för att läsa vidare",
        "Logg inn for å lese videre",
        "Log ind for at læse videre",
        "Tilaa ja jatka lukemista",
        "Tento článek je jen pro předplatitele",
        "続きを読むには会員登録が必要です",
    ],
)
def test_a_subscription_offer_after_a_short_text(offer: str) -> None:
    wall = f'<div class="paywall-box"><p>{offer}</p></div>'
    assert read(page(body=SHORT + wall)).partial
    assert not read(page(body=TEXT * 6 + wall)).partial
    assert not read(page(body=f"{SHORT}<p>{offer[:9]}</p>")).partial


def test_a_paid_part_makes_a_page_partial_unless_the_page_is_declared_free() -> None:
    part = '"hasPart":{"@type":"WebPageElement","isAccessibleForFree":"False","cssSelector":".wall"}'
    node = '{"@type":"NewsArticle","headline":"x",%s}'
    assert read(page(json_ld(node % part), SHORT)).partial
    assert not read(page(json_ld(node % f'"isAccessibleForFree":true,{part}'), SHORT)).partial


@pytest.mark.parametrize(
    "title",
    [
        "Rain in town – LIVE",
        "【直播】大雨封路",
        "Lluvia, minuto a minuto: cierra la carretera",
        "EN DIRECT. Pluie",
    ],
)
def test_live_blogs_by_title(title: str) -> None:
    stamps = "".join(f"<p><time>10:{n:02}</time> {PROSE[n % 4]} {n}</p>" for n in range(9))
    assert read(page(body=stamps, title=title)).form == "live"
    assert read(page(body=TEXT, title=title)).form == "article"


def test_live_blogs_by_the_boxes_of_their_times() -> None:
    stamps = "".join(f"<p><time>10:{n:02}</time> {PROSE[n % 4]} {n}</p>" for n in range(9))
    assert read(page(body=f"<div class=liveblog>{stamps}</div>")).form == "live"
    assert read(page(body=f"<div class=liveblog-teaser></div>{stamps}")).form == "article"


def test_live_blogs() -> None:
    stamps = "".join(
        f"<time datetime='2024-05-03T10:{n:02}'>10:{n:02}</time><p>{PROSE[0]} {n}</p>" for n in range(9)
    )
    posting = json_ld('{"@type":"LiveBlogPosting","headline":"x","liveBlogUpdate":[{"@type":"BlogPosting"}]}')
    assert read(page(posting)).form == "live"
    assert read(page(body=stamps), "https://www.example.org/live/2024/rain-closes-roads").form == "live"
    assert read(page(body=stamps)).form == "article"
    assert read(page(), "https://www.example.org/live/2024/rain-closes-roads").form == "article"


def test_galleries() -> None:
    pictures = "".join(
        f"<figure><img src='/{n}.jpg'><figcaption>Sand {n}</figcaption></figure>" for n in range(6)
    )
    address = "https://www.example.org/gallery/rain-in-pictures"
    assert read(page(body=TEXT + pictures), address).form == "gallery"
    assert read(page(body=TEXT * 20 + pictures), address).form == "article"
    assert read(page(body=TEXT + pictures)).form == "article"


def test_a_gallery_by_its_title_and_one_of_captions_alone() -> None:
    pictures = "".join(
        f"<figure><img src='/{n}.jpg'><figcaption>{PROSE[n % 4]}</figcaption></figure>" for n in range(6)
    )
    assert read(page(body=TEXT + pictures, title="In pictures: rain closes the road")).form == "gallery"
    shown = read(page(body=pictures), "https://www.example.org/gallery/rain-in-pictures")
    assert shown.form == "gallery"
    assert shown.text.splitlines() == PROSE
    short = "".join(
        f"<figure><img src='/{n}.jpg'><figcaption>The road, {n}</figcaption></figure>" for n in range(20)
    )
    shown = read(page(body=short), "https://www.example.org/gallery/rain-in-pictures")
    assert (shown.form, shown.extraction["text"]) == ("gallery", "captions")


def test_an_agency_in_the_byline() -> None:
    """The agency stays in the byline and is also a separate field, so that the authors are persons only."""
    people = '[{"@type":"Person","name":"Ann Lee"},{"name":"Thomson Reuters"}]'
    node = f'{{"@type":"NewsArticle","headline":"x","author":{people}}}'
    article = read(page(json_ld(node)))
    assert (article.authors, article.agencies) == (["Ann Lee", "Thomson Reuters"], ["Reuters"])


def test_a_stated_source_is_an_agency() -> None:
    node = (
        '{"@type":"NewsArticle","headline":"x","author":{"@type":"Organization","name":"ТАСС"},'
        '"sourceOrganization":{"@type":"Organization","name":"Agence France-Presse"}}'
    )
    assert read(page(json_ld(node))).agencies == ["TASS", "AFP"]
    assert read(page()).agencies == []


def test_people_with_names_like_agencies_are_not_agencies() -> None:
    assert agency_of("Ann Efe") is None
    assert agency_of("Associated Press") == "AP"
