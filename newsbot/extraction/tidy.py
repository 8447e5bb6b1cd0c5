"""Lines that stand among the paragraphs of an article but are no part of it."""

from __future__ import annotations

import re
from collections.abc import Collection

from lxml import etree

from newsbot.extraction.blocks import Block
from newsbot.extraction.dates import find_date
from newsbot.extraction.strings import key

MAX_LABEL = 40
"""Length of the words before a link that make it a pointer elsewhere ("Read also:")."""

_POINTER = (
    r"(?:read|see|watch|listen|don't miss|lesen sie|mehr zum|siehe|lire|voir|à lire|lees|les|læs|läs|leia|lea|lee|leer|leggi|baca|xem|czytaj|zobacz|přečtěte|"
    r"čtěte|čítajte|citește|citiți|olvasd|skaityk|lasi|loe|mira|ver|vea|ve también|también|veja|guarda|lue|διαβάστε|okuyun|читайте|читать|смотрите|"
    r"дивіться|читай|чытайце|прочетете|четете)"
)
_POINTS = re.compile(
    rf"^\W{{0,3}}(?:{_POINTER}\s(?:more|also|next|too|auch|mehr|aussi|ook|også|mer|også|også|também|también|más|mais|anche|juga|thêm|więcej|też|także|"
    r"také|tiež|și|is|taip pat|arī|ka|lisää|επίσης|также|по теме|еще|ещё|далее|також|ще|таксама|още|на эту тему|w temacie)\b"
    rf"|(?:also|auch|tambi[eé]n|baca|related|see)\s(?:read|lesen|interessant|te puede interesar|juga)\b"
    r"|(?:related|по теме|материалы по теме|ещё по теме|еще по теме|в тему|matéria relacionada|artículo relacionado|articles? liés?|zum thema|"
    r"mehr dazu|más información|recommended|you may (?:also )?like|most read|trending)(?:\s(?:stories|articles|coverage|video|content))?\s*(?::|\||$))",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\W*(?:article content|advertisement|advertising|advertisement continues below|story continues below(?: advertisement)?|реклама|anzeige|werbung|"
    r"publicidad|publicité|publicidade|pubblicità|reklama|reklame|annonse|mainos|iklan|quảng cáo|广告|広告|headline|share|share this(?: article| story)?|"
    r"поделиться|поделиться в соцсетях|teilen|partager|compartir|condividi|udostępnij|paylaş|bagikan|tags?|теги|метки|ключевые слова|etiketler|"
    r"schlagworte|etiquetas|mots[- ]clés|comments?|leave a comment|комментарии|комментировать|оставить комментарий|kommentare|commentaires|comentarios|"
    r"print|печать|версия для печати|распечатать|loading|загрузка|top stories|latest news|последние новости|новости по теме|haberler|summary|"
    r"darum geht'?s|das wichtigste in kürze|kortversjonen|in this article|table of contents|содержание|follow us|подписаться|subscribe|"
    r"sign up|newsletter|_{2,}|\*{2,}|-{2,})\W*$",
    re.IGNORECASE,
)
_APPEAL = re.compile(
    r"^\W{0,3}(?:sign up (?:for|to)|subscribe (?:to|for|now)|get (?:the latest|our|your|access to) .{0,80}(?:inbox|newsletter|subscri|alerts)|follow (?:us|\w+(?: \w+){0,3}) on|"
    r"join (?:our|the) .{0,40}(?:forum|channel|newsletter|whatsapp|telegram)|download (?:our|the) app|click here to|listen to this article|"
    r"do you have a story|have a (?:tip|story)|if you have a story|our standards: |all rights reserved|copyright\b|©|\(c\) |"
    r"подпис(?:ывайтесь|аться|ывайся) на|подпишитесь|следите за (?:нами|новостями|нашими)|присоединяйтесь|нашли (?:ошибку|опечатку)|если вы (?:нашли|заметили) (?:ошибку|опечатку)|"
    r"заметили ошибку|выделите (?:ее|её|текст)|все права защищены|перепечатка|при использовании материал|підпис(?:уйтесь|уйся) на|знайшли помилку|"
    r"fehler gefunden|abonniere|jetzt abonnieren|folgst du|abonnez-vous|suivez-nous|suscríbete|síguenos|iscriviti|assine|inscreva-se|siga|"
    r"(?:additional )?reporting by |editing by |il vous reste \d)",
    re.IGNORECASE,
)
_CREDIT = re.compile(
    r"^\W{0,2}(?:photos?|photograph|image|images|picture|foto|fotos|bild|bilder|фото|иллюстрация|изображение|скриншот|crédit photo|credit|quelle|source|источник|"
    r"джерело|video|видео|ảnh|imagen|zdjęcie|fot)\s*(?::|by\b|©|\||/)",
    re.IGNORECASE,
)
_MAX_APPEAL = 320
_MAX_CREDIT = 160
_ENDS = re.compile(r"[.!?…。»”\"')]\s*$")


def tidy(blocks: list[Block]) -> list[Block]:
    """Return ``blocks`` without pointers to other articles, labels, appeals to subscribe and picture credits."""
    return [block for block in blocks if not _is_foreign(block.text)]


def _is_foreign(text: str) -> bool:
    if len(text) > _MAX_APPEAL:
        return False
    if len(text) <= MAX_LABEL and _LABEL.match(text):
        return True
    if _POINTS.match(text) or _APPEAL.match(text):
        return True
    return len(text) <= _MAX_CREDIT and bool(_CREDIT.match(text))


def trim_edges(blocks: list[Block], title: str, authors: Collection[str]) -> list[Block]:
    """Drop the headline, the names and the date line that stand above the first paragraph, and names below the last.

    At least one block stays.
    """
    names = {key(author) for author in authors}
    headline = key(title)
    kept = [
        block
        for index, block in enumerate(blocks)
        if not (
            (index < 4 and _is_head(block.text, headline, names)) or (index >= len(blocks) - 2 and _is_byline(block.text, names))
        )
    ]
    return kept or blocks


def _is_head(text: str, headline: str, names: set[str]) -> bool:
    words = key(text)
    if not words or (headline and (words == headline or (words.endswith(headline) and len(words) < len(headline) + 50))):
        return True
    if _is_byline(text, names):
        return True
    return len(text) <= 45 and not _ENDS.search(text) and find_date(text) is not None


def _is_byline(text: str, names: set[str]) -> bool:
    if not names or len(text) > 80:
        return False
    words = key(text)
    if words.removeprefix("by ").removeprefix("von ").removeprefix("автор ") in names:
        return True
    return words == " ".join(sorted(names, key=lambda name: words.find(name))) if all(name in words for name in names) else False


def pointers(tree: etree._Element) -> list[etree._Element]:
    """Return paragraphs and list items that hold nothing but a link, perhaps after a short label.

    An article links from within its sentences; a line that is a link as a whole leads elsewhere.
    """
    found = []
    for link in tree.iter("a"):
        holder = _holder(link)
        if holder is not None:
            found.append(holder)
    return found


def _holder(link: etree._Element) -> etree._Element | None:
    """The block of which the link is the whole content; None if other text stands beside it."""
    element = link
    label = 0
    for _ in range(4):
        tail = (element.tail or "").strip(" \t\r\n.,;:|»›→")
        parent = element.getparent()
        if tail or parent is None:
            return None
        before = [part.strip() for part in parent.itertext() if part.strip()] if len(parent) > 1 else []
        if len(parent) > 1 and not _only(parent, element, before):
            return None
        label += len((parent.text or "").strip())
        if label > MAX_LABEL or (label and not (parent.text or "").strip().endswith((":", "|", ">", "»", "–", "-"))):
            return None
        if parent.tag in ("p", "li"):
            text = "".join(link.itertext()).strip()
            return parent if len(text) >= 20 or label else None
        if parent.tag not in ("strong", "b", "em", "i", "span", "u", "font"):
            return None
        element = parent
    return None


def _only(parent: etree._Element, element: etree._Element, before: list[str]) -> bool:
    """True when ``parent`` holds besides ``element`` only a label such as "Read also:"."""
    inside = sum(len(part.strip()) for part in element.itertext())
    return sum(map(len, before)) - inside <= MAX_LABEL and bool(before) and before[0].endswith(":")
