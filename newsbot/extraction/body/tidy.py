"""Removes lines that stand between the paragraphs of an article but do not belong to it.

A label is a short line such as "Advertisement". An appeal asks the reader to do something, such as to
subscribe. A pointer is a link to another article, such as "Read also: …".
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from newsbot.extraction.blocks import Block
from newsbot.extraction.fields.dates.moments import find_date
from newsbot.extraction.strings import key

MAX_LABEL = 40
"""Maximum length of a label before a link that points elsewhere ("Read also:")."""

_POINTER = (
    r"(?:read|see|watch|listen|don't miss|lesen sie|mehr zum|siehe|lire|voir|à lire|lees|les|læs|läs|leia|"
    r"lea|lee|leer|leggi|baca|xem|czytaj|zobacz|přečtěte|"
    r"čtěte|čítajte|citește|citiți|olvasd|skaityk|lasi|loe|mira|ver|vea|ve también|también|veja|guarda|lue|"
    r"διαβάστε|okuyun|читайте|читать|смотрите|"
    r"дивіться|читай|чытайце|прочетете|четете)"
)
_POINTS = re.compile(
    rf"^\W{{0,3}}(?:{_POINTER}\s(?:more|also|next|too|auch|mehr|aussi|ook|også|mer|også|også|também|también|"
    rf"más|mais|anche|juga|thêm|więcej|też|także|"
    r"také|tiež|și|is|taip pat|arī|ka|lisää|επίσης|также|по теме|еще|ещё|далее|також|ще|таксама|още|на эту "
    r"тему|w temacie)\b"
    rf"|(?:also|auch|tambi[eé]n|baca|related|see)\s(?:read|lesen|interessant|te puede interesar|juga)\b"
    r"|(?:related|по теме|материалы по теме|ссылки по теме|ещё по теме|еще по теме|в тему|"
    r"matéria relacionada|artículo relacionado|articles? liés?|zum thema|"
    r"mehr dazu|más información|recommended|you may (?:also )?like|most read|trending)(?:\s(?:stories|"
    r"articles|coverage|video|content))?\s*(?::|\||$))",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\W*(?:article content|advertisement|advertising|advertisement continues below|story continues "
    r"below(?: advertisement)?|реклама|anzeige|werbung|"
    r"publicidad|publicité|publicidade|pubblicità|reklama|reklame|annonse|mainos|iklan|quảng cáo|广告|広告|"
    r"headline|share|share this(?: article| story)?|"
    r"поделиться|поделиться в соцсетях|teilen|partager|compartir|condividi|udostępnij|paylaş|bagikan|tags?|"
    r"теги|метки|ключевые слова|etiketler|"
    r"schlagworte|etiquetas|mots[- ]clés|comments?|leave a comment|комментарии|комментировать|оставить "
    r"комментарий|kommentare|commentaires|comentarios|"
    r"print|печать|версия для печати|распечатать|loading|загрузка|top stories|latest news|последние новости|"
    r"новости по теме|haberler|summary|"
    r"darum geht'?s|das wichtigste in kürze|kortversjonen|in this article|table of contents|содержание|"
    r"follow us|подписаться|subscribe|"
    r"sign up|newsletter|_{2,}|\*{2,}|-{2,})\W*$",
    re.IGNORECASE,
)
_APPEAL = re.compile(
    r"^\W{0,3}(?:sign up (?:for|to)|subscribe (?:to|for|now)|get (?:the latest|our|your|access to) "
    r".{0,80}(?:inbox|newsletter|subscri|alerts)|follow (?:us|\w+(?: \w+){0,3}) on|"
    r"join (?:our|the) .{0,40}(?:forum|channel|newsletter|whatsapp|telegram)|download (?:our|the) app|click "
    r"here to|listen to this article|"
    r"do you have a story|have a (?:tip|story)|if you have a story|our standards: |all rights reserved|"
    r"copyright\b|©|\(c\) |"
    r"подпис(?:ывайтесь|аться|ывайся) на|подпишитесь|следите за (?:нами|новостями|нашими)|присоединяйтесь|"
    r"нашли (?:ошибку|опечатку)|если вы (?:нашли|заметили) (?:ошибку|опечатку)|"
    r"заметили ошибку|выделите (?:ее|её|текст)|все права защищены|перепечатка|при использовании материал|"
    r"підпис(?:уйтесь|уйся) на|знайшли помилку|"
    r"fehler gefunden|abonniere|jetzt abonnieren|folgst du|abonnez-vous|suivez-nous|suscríbete|síguenos|"
    r"iscriviti|assine|inscreva-se|siga|"
    r"(?:additional )?reporting by |editing by |il vous reste \d)",
    re.IGNORECASE,
)
_ARROW = re.compile(r"(?:>>|»»)\s*$")
_CREDIT = re.compile(
    r"^\W{0,2}(?:photos?|photograph|image|images|picture|foto|fotos|bild|bilder|фото|иллюстрация|"
    r"изображение|скриншот|crédit photo|credit|quelle|source|источник|"
    r"джерело|video|видео|ảnh|imagen|zdjęcie|fot)\s*(?::|by\b|©|\||/)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"^\W{0,3}(?:siga(?!nos)\w|assine\w|"
    r"copyright\s(?!(?:by|of|and|notice|holder|reserved|protected|material)\b)(?-i:[a-z]{3}).{20,}[.!?…»”\"]$|"
    r"(?:photos?|photographs?|images?|pictures?|videos?)\sby\s(?-i:[a-z]).{40,}[.!?…»”\"]$)",
    re.IGNORECASE,
)
"""Sentences of an article that only begin like an appeal or a picture credit.

Examples: "Sigara …", "Copyright law is …", "Photos by satellites …".
"""
_MAX_APPEAL = 320
"""Maximum length of an appeal, in characters. Longer lines are never removed."""
_MAX_CREDIT = 160
"""Maximum length of a picture credit, in characters."""
_ENDS = re.compile(r"[.!?…。»”\"')]\s*$")


def tidy(blocks: list[Block]) -> list[Block]:
    """Return ``blocks`` without links to other articles, labels, appeals to readers and picture credits."""
    return [block for block in blocks if not is_foreign(block.text)]


@lru_cache(maxsize=1024)
def is_foreign(text: str) -> bool:
    """True for a line whose words show that it is not part of an article.

    Results are cached, because the lines of an article are compared with those of its earlier versions.
    """
    if len(text) > _MAX_APPEAL or _SENTENCE.match(text):
        return False
    if _APPEAL.match(text) or _ARROW.search(text) or (len(text) <= MAX_LABEL and _LABEL.match(text)):
        return True
    # "Read also the small print, he told them." is a sentence: it has no colon and ends with a full stop.
    if _POINTS.match(text) and (":" in text[:MAX_LABEL] or not text.endswith(".")):
        return True
    return len(text) <= _MAX_CREDIT and _CREDIT.match(text) is not None


def trim_edges(blocks: list[Block], title: str, authors: Collection[str]) -> list[Block]:
    """Return ``blocks`` without the headline, names and date at the start, and without names at the end.

    If nothing else is left, all blocks are returned.
    """
    names = {key(author) for author in authors}
    headline = key(title)
    kept = [
        block
        for index, block in enumerate(blocks)
        # Headline, byline and date are in the first four lines. Further down, a short line belongs to the
        # text.
        if not (
            (index < 4 and _is_head(block.text, headline, names))
            or (index >= len(blocks) - 2 and _is_byline(block.text, names))
        )
    ]
    return kept or blocks


def _is_head(text: str, headline: str, names: set[str]) -> bool:
    """True for a line that is the headline, names of authors, or a date."""
    words = key(text)
    if not words or (
        headline and (words == headline or (words.endswith(headline) and len(words) < len(headline) + 50))
    ):
        return True
    if _is_byline(text, names):
        return True
    return len(text) <= 45 and not _ENDS.search(text) and find_date(text) is not None


def _is_byline(text: str, names: set[str]) -> bool:
    """True for a line that has only names of authors."""
    if not names or len(text) > 80:
        return False
    words = key(text)
    if words.removeprefix("by ").removeprefix("von ").removeprefix("автор ") in names:
        return True
    # Several authors may stand on one line, in any order.
    return all(name in words for name in names) and words == " ".join(sorted(names, key=words.find))
