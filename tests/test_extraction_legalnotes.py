"""Notes on the law at the end of a text are the site's; in the middle they are news."""

from __future__ import annotations

import pytest

from newsbot.extraction.blocks import Block
from newsbot.extraction.body.legal_notes import MAX_LINES, without_legal_end
from newsbot.extraction.body.tidy import tidy

NEWS = ["The council voted on Monday.", "The new bridge opens in May.", "Nobody spoke against it."]
RIGHTS = "Все права на материалы, опубликованные на сайте, охраняются в соответствии с законодательством."


def left(*texts: str) -> list[str]:
    return [block.text for block in without_legal_end([Block("paragraph", text) for text in texts])]


@pytest.mark.parametrize(
    "note",
    [
        RIGHTS,
        "Copyright 2024 The Paper. All rights reserved.",
        "This material may not be published, broadcast, rewritten or redistributed.",
        "This copy is for your personal, non-commercial use only. To order copies, visit the shop.",
        "Nachdruck, auch auszugsweise, nur mit Genehmigung der Redaktion.",
        "При использовании материалов гиперссылка на сайт обязательна.",
        "Редакция сайта не несет ответственности за содержание рекламы.",
        "При повному використанні гіперпосилання на сайт обов'язкове.",
        "Riproduzione riservata",
        "Check out more of our stories by signing up to our free weekly newsletter",
        "Eine Übersicht am Morgen und zum Feierabend: Abonniere den Whatsapp-Kanal der Zeitung.",
        "Подписывайтесь на наш канал в Telegram!",
        "Follow the Daily Post on Google News",
        "Want more? Join our WhatsApp channel.",
        "Folgen Sie uns auf WhatsApp",
        "No part of it may be copied without the prior written permission of the publisher.",
        "Полное копирование материалов сайта запрещено.",
    ],
)
def test_a_note_at_the_end_goes(note: str) -> None:
    assert left(*NEWS, note) == NEWS


def test_a_stretch_of_notes_goes_with_lines_among_them() -> None:
    assert left(*NEWS, RIGHTS, "Версия 5.0, август 2004.", RIGHTS, "Распространяется бесплатно.") == NEWS


def test_a_sentence_about_rights_among_others_stays() -> None:
    whole = [NEWS[0], "The song may not be reproduced without the permission of its author.", *NEWS[1:]]
    assert left(*whole) == whole


def test_an_offer_within_a_text_or_a_long_line_stays() -> None:
    whole = [NEWS[0], "He asked people to subscribe to his channel.", *NEWS[1:]]
    assert left(*whole) == whole
    story = f"Thousands follow the channel of the mayor. {' '.join(NEWS * 4)}"
    assert left(*NEWS, story) == [*NEWS, story]


@pytest.mark.parametrize(
    "sentence",
    [
        "Стороны подписали соглашение о строительстве канала «Евразия» до 2030 года.",
        "Президент подписал закон о блокировке телеграм-каналов без решения суда.",
        "Im folgenden Jahr wurde der Kanal für Schiffe gesperrt.",
        "Die Folgen für den Verkehr auf dem Kanal sind noch nicht absehbar.",
        "Thousands are expected to join the protest at the Panama Canal on Monday.",
        "She will join the channel as head of news in May.",
        "El ministro suscribió el acuerdo sobre el canal de Panamá.",
        "Компания получила все права на фильм и выпустит его весной.",
        "He was accused of showing the photos without the prior written consent of the woman.",
        "Полное копирование мозга невозможно, считает учёный.",
        "Администрация города не несёт ответственности за упавшее дерево, решил суд.",
        "Abone sayısı artan kanalın sahibi gözaltına alındı.",
    ],
)
def test_news_that_only_share_words_with_notes_stay_at_the_end(sentence: str) -> None:
    assert left(*NEWS, sentence) == [*NEWS, sentence]


def test_links_with_arrows_under_a_label_go() -> None:
    lines = (*NEWS, "Ссылки по теме:", "Мост откроют в мае >>>", "Another bridge »»")
    assert [block.text for block in tidy([Block("paragraph", text) for text in lines])] == NEWS


def test_a_text_of_nothing_else_stays() -> None:
    assert left(RIGHTS, RIGHTS) == [RIGHTS, RIGHTS]


def test_only_the_end_is_looked_at() -> None:
    assert len(left(*NEWS, *[RIGHTS] * (MAX_LINES + 4))) == len(NEWS) + 4


def test_it_is_part_of_tidying() -> None:
    assert [block.text for block in tidy([Block("paragraph", text) for text in (*NEWS, RIGHTS)])] == NEWS
