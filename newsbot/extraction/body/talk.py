"""Counts the subjects of the words in a line, such as law, comments, or subscriptions.

Sentences contain function words, while legal notes and comments have typical other words. The lists have
prefixes of such words in the languages of most news sites. The shares of words for each subject are features
for the decision trees (:mod:`learned`), so no list decides alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from newsbot.extraction.stopwords import PROFILES
from newsbot.extraction.strings import word_list, words

_BITS = 16
"""Number of bits of one count.

Several counts are packed into one integer, so that one addition adds all of them. A count may reach 65,535.
"""


def tally(places: Iterable[int]) -> int:
    """Return an integer with packed counts: 1 at each of ``places`` (from 0) and 0 at other places.

    Such integers may be added.
    """
    return sum(1 << (_BITS * place) for place in places)


def counts(tallies: Sequence[int], places: int) -> NDArray[np.uint16]:
    """Return one row for each integer in ``tallies``, with its counts at the first ``places`` places."""
    size = places * _BITS // 8
    whole = b"".join([one.to_bytes(size, "little") for one in tallies])
    return np.frombuffer(whole, "<u2").reshape(-1, places)


_SUBJECTS = {
    "law": word_list(
        "copyright rights? reserv reproduc republish permission licen[cs] disclaim liabil trademark",
        "privacy imprint impressum datenschutz urheber vorbehalten nutzung droits? réserv mentions",
        "derechos direitos riservat diritti riproduz prawa zastrzeż vyhrazen práva telif hakk",
        "saklıdır rettigheter rättigheter oikeudet прав[аоу]?$ правообл авторск охраня законодат",
        "гиперссыл перепеч копиров цитиров воспроизв свидетельств зарегистр роскомнадз учредит",
        "редакци ответственн юридич гіперпосил передрук свідоцтв захищен 版 权 權 著 저 무 转 転 轉 禁",
    ),
    "comment": word_list(
        "comment kommenta comenta commenti yorum komment komenta комм?ент отзыв обсужд форум модер",
        "правил регистр авториз вой(?:ти|дите) login logged log register password парол user nutzer",
        "пользоват користув netiquet rules? abuse spam спам ненорматив оскорб opini reply replies",
        "respond antwort",
    ),
    "subscribe": word_list(
        "newslett subscri abonn suscrib assin iscriv inscri подпис підпис рассыл telegram телеграм",
        "whatsapp facebook фейсбук twitter твит instagram youtube вконтакт apps? download inbox mail",
        "follow folge síguenos siga канал push notif cookie javascript browser adblock klick click",
        "кликн нажм",
    ),
    "elsewhere": word_list(
        "read also related more lesen mehr thema lire aussi leer leia leggi читай также такж теме ещё",
        "еще смотри latest popular trending recommend top последн новост новин популярн главн",
        "сам[оы]е archive архив baca juga oku haber czytaj więcej läs lue lees meer",
    ),
    "credit": word_list(
        "photo foto фото image imag bild getty reuters afp ap dpa pap efe ansa source quelle источн",
        "credit автор author autor auteur auteure редактор editor editing корреспонд byline contribut",
        "reporting writing опубликов publish posted updat обновл просмотр views?$ прочит",
    ),
    "contact": word_list(
        "phone tel тел fax факс адрес address contact контакт kontakt ул street реклам advert anzeig",
        "werbung publicid pubblic sponsor партнер partner магаз shop price цен[аы] руб usd eur http",
        "www com ru html",
    ),
}
SMALL = frozenset().union(*PROFILES.values())
"""Function words of all languages."""
NAMES = ("small", *_SUBJECTS)
"""The subjects. "small" stands for function words."""
_MOST = 60
"""Maximum number of words of a line that are counted."""
_LETTERS = 10 * _MOST
"""Maximum number of letters of a line that are split into words."""


def _by_first() -> dict[str, tuple[tuple[int, re.Pattern[str]], ...]]:
    """Return the prefixes by first letter.

    Each entry has the place of a subject in :data:`NAMES` and a pattern for its prefixes with this letter.
    """
    found: dict[str, dict[int, list[str]]] = {}
    for place, beginnings in enumerate(_SUBJECTS.values(), start=1):
        for beginning in beginnings:
            found.setdefault(beginning[0], {}).setdefault(place, []).append(beginning)
    return {
        letter: tuple((place, re.compile("|".join(parts))) for place, parts in subjects.items())
        for letter, subjects in found.items()
    }


_BY_FIRST = _by_first()


@lru_cache(maxsize=16384)
def _signs(word: str) -> int:
    """Return packed counts of the :data:`NAMES` to which a word belongs."""
    found = [place for place, pattern in _BY_FIRST.get(word[0], ()) if pattern.match(word)]
    return tally([0, *found] if word in SMALL else found)


def talks(texts: Sequence[str], said: Sequence[list[str]] | None = None) -> NDArray[np.float32]:
    """Return one row for each text with the share of its words that belong to each of :data:`NAMES`.

    ``said`` has the first words of each text, if they are known already.
    """
    heads = [
        words(text[:_LETTERS]) if said is None or len(text) > _LETTERS else said[number]
        for number, text in enumerate(texts)
    ]
    found = [head[:_MOST] for head in heads]
    totals = counts([sum(map(_signs, own)) for own in found], len(NAMES))
    shares: NDArray[np.float32] = (totals / np.array([[len(own) or 1] for own in found])).astype(np.float32)
    return shares
