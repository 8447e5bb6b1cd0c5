"""Notes that close a text: whose the rights are, what may be copied, which newsletter or channel there is.

One such sentence may stand in news about copyright. A stretch at the end that begins with one, and is made of
them at least by half, is the site's own.
"""

from __future__ import annotations

import re

from newsbot.extraction.blocks import Block

MAX_LINES = 15
"""Lines at the end of a text that are looked at."""
_LOOKED_AT = 600
"""Letters of a line that are."""
_MAX_OTHERS = 2
"""Other lines, more than there are notes, after which no more are looked at."""
_NOTE = re.compile(
    r"all rights reserved|may not be (?:published|reproduced|copied|republished|redistributed)\b.{0,80}"
    r"(?:broadcast|redistribut|rewritten|permission|consent)|for (?:your )?personal,? non-?commercial use|"
    r"(?:reproduc|republi|redistribut|copied|copying|archived|stored|transmi)\w*\b.{0,120}\bwithout (?:the )?"
    r"(?:prior|express|explicit)[\w ,-]{0,30}(?:permission|consent) of|"
    r"alle rechte vorbehalten|nachdruck.{0,60}(?:verboten|untersagt|genehmigung)|"
    r"tous droits (?:réservés|de reproduction)|todos los derechos reservados|todos os direitos reservados|"
    r"prohibida (?:su|la) reproducción|tutti i diritti riservati|riproduzione riservata|"
    r"wszelkie prawa zastrzeżone|všechna práva vyhrazena|tüm hakları saklıdır|"
    r"все права (?:защищены|на\b.{0,60}\b(?:материал|сайт|текст|фото|контент|публикац|изображен))|"
    r"правовые ограничения|"
    r"правообладател\w{1,3} (?:проекта|сайта|портала|издания)|"
    r"охраня\w{1,5} (?:в соответствии с )?(?:законодательств|законом об авторск)|"
    r"(?:допускается (?:цитирование|копирование|перепечатка|использование|воспроизведение)|"
    r"(?:полное|частичное) (?:или (?:полное|частичное) )?(?:копирование|использование|воспроизведение))"
    r".{0,80}\b(?:материал|сайт|текст|контент|публикац|информац|стат(?:ьи|ей)|ссылк|источник)|"
    r"свидетельств\w{1,2} о регистрации (?:сми|средства массовой)|"
    r"(?:редакция|администрация (?:сайт|портал|ресурс|проект|издани)\w*).{0,60}\bне нес[её]т ответственности|"
    r"(?:гиперссылк|ссылк)\w{1,3}.{0,60}\bобязательн|обязательн\w{1,3}.{0,40}гиперссылк|"
    r"усі права (?:захищені|застережені)|всі права (?:захищені|застережені)|"
    r"(?:гіперпосилання|посилання).{0,60}\bобов['’]язков"
)

_ASKS = (
    r"(?:subscribe|sign(?:ing)? up|join|follow|bookmark|suivez|siga|assine|inscreva|ikuti|gabung|"
    r"abonnier(?:e|t))"
)
"""What stories say too: it asks the reader where it begins a sentence, or speaks of "us" or to "you"."""
_OFFER = re.compile(
    rf"(?:(?:^|[.!?:–—-]\s)\W{{0,3}}{_ASKS}\b|\b{_ASKS}\b(?=.{{0,90}}\b(?:our|us|your?)\b)|"
    r"\b(?:abonniere|abonnieren sie|folg(?:e|t|en sie) (?:uns|unser\w*)|"
    r"подпи(?:шит\w+|шись|сывай\w+|саться)|присоединяй\w+|підпи(?:шіться|шись|суй\w+|сатися)|"
    r"suscr[ií]b(?:ete|ase|anse)|síguenos|abonnez|inscrivez|iscriviti|seguici|abone ol\w*)\b)"
    r".{0,90}\b(?:newsletters?|whatsapp|telegram|channel|kanal\w*|alerts?|canal|канал\w*|inbox|google news)\b"
)
"""Of a newsletter or a channel."""
_MAX_OFFER = 320


def without_legal_end(blocks: list[Block]) -> list[Block]:
    """Return ``blocks`` without the notes on the law at their end; a text of nothing else stays."""
    end = start = len(blocks)
    notes = others = 0
    for index in range(end - 1, max(-1, end - 1 - MAX_LINES), -1):
        if _is_note(blocks[index].text):
            notes += 1
            start = index if notes >= others else start
        else:
            others += 1
            if others > notes + _MAX_OTHERS:
                break
    return blocks[:start] if start else blocks


def _is_note(text: str) -> bool:
    start = text[:_LOOKED_AT].lower()
    return _NOTE.search(start) is not None or (len(text) <= _MAX_OFFER and _OFFER.search(start) is not None)
