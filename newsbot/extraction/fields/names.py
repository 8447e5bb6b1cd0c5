"""Extracts the names of authors from bylines such as "By Jane Doe, Political Editor".

Words such as "by", job titles, dates, e-mail addresses and handles (@jane) are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from newsbot.extraction.strings import key, plain, word_set

MAX_AUTHORS = 25
"""Maximum number of names of one article."""
MAX_BYLINES = 100
"""Maximum number of bylines that are read."""

_AND = r"(?:and|und|et|og|och|en|та|ve|&|with|mit|avec|con|και|és|ja|și|oraz|(?-i:e|y|i|и|й|і|a|ir|dan|و))"
"""Words between two names. Single letters count only in lower case, because "Mary E Smith" is one name."""
_PICTURES = r"(?:fotos?|photos?|bilder|фото|video|видео)"
_SPLIT = re.compile(
    rf"\s*[;|•·/\n、，]\s*|\s*[,،]\s+(?:{_AND}\s+)?|(?<=[a-zа-яё]),(?=[A-ZА-ЯЁ])|\s+{_AND}\s+|"
    rf"\.?\s+(?=(?:{_PICTURES}|texte?|tekst|текст)\s?[:：])",
    re.IGNORECASE,
)
BY = re.compile(
    r"^(?:(?:written|veröffentlicht|erstellt|geschrieben|words|"
    r"(?:text|texte|tekst|words|story) (?:&|and|und|et|og|och) (?:fotos?|photos?|bilder|bild)|"
    r"story|text|texte?|tekst|texto|teksti|report(?:ed|ing)?|posted|published|фото и текст|текст и фото|"
    r"текст|автор(?:ы|"
    r"и)?(?: статьи| текста| материала)?|"
    r"(?:материал )?подготовил[аи]?|публикувано от|пише|беседовал[аи]?|записал[аи]?|von|par|por|"
    r"de la redacción|redigerad av|af|av|di|door|"
    r"przez|yazan|autor(?:en|in|es|a|zy)?|"
    r"(?:publié|écrit|rédigé|propos recueillis|recueilli) par|(?:escrito|publicado|redactado) por|"
    r"scritto da|a cura di|"
    r"dal(?:la)? nostr[oa] (?:inviat|corrispondent)[oae]|scris de|napsala?|írta|piše|parengė|"
    r"unser(?:em|er) (?:korrespondent|redakteur|reporter|mitarbeiter)\w*|onze (?:redacteur|correspondent|"
    r"verslaggever)|"
    r"protokoll|(?:protokolliert|aufgezeichnet) von|(?:compiled|contributed)(?= by\b)|as told to|"
    r"(?:skrevet|skriven|publisert) av|geschreven door|oprac(?:owanie|owała?)?|oleh|penulis|"
    r"γράφει [οη]|γράφουν οι|από τ(?:ον|ην|η)|τ(?:ου|ης)|"
    r"auteur|author(?:s)?|byline|by|от|от автора|opinion|column|essay|kommentar|"
    r"eine? (?:kommentar|gastbeitrag|interview|analyse|reportage|kolumne|essay|glosse|porträt) von|"
    r"an analysis|interview|"
    r"(?:(?:view |see |read )?(?:all )?(?:posts|articles|stories)|analysis|exclusive|review|comment|"
    r"perspective)(?= by\b))\b\s*(?:by|von|par|of)?\s*[:\-–—.]?\s*)+"
    r"|^(?:aus\s\w+|بقلم|كتب[هت]?|כתב(?:ה)?|haber|yazar|reporter|tác giả|문|文|글|취재)\s?[:：\-–]\s?"
    r"|^מאת\s?:?\s"
    r"|^(?:本报|本网|本刊)?(?:记者|記者|作者|撰文|责编|责任编辑)\s?[:：]?\s?",
    re.IGNORECASE,
)
"""Words before the first name of a byline."""
_PLACED = re.compile(
    r"^[(\[]?[가-힣]{2,8}\s?=\s?[가-힣]{2,10}[)\]]?\s+|^.{0,60}?\d.{0,30}?\s(?:by|von|par|por|door)\s+",
    re.IGNORECASE,
)
"""Text before the first name: town and agency in a Korean byline, or a date that "by" follows."""
_TAIL = re.compile(
    r"\s*(?:[(\[<].{0,80}[)\]>]|[-–—|]\s+(?:[A-ZА-Я][\w.]*\s?){1,4}|@\w+|,\s*(?:md|phd|dr|jr|sr|"
    r"ph\.d\.?))\s*$|\s+(?:updated|published|обновлено)\b.*$|"
    r"\s+on\s+(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b.*$|"
    r"\s+(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|twitter|facebook|instagram|linkedin|e-?mail|rss)$|"
    r"\s+(?:(?:le|am|el|il|den|dne)\s)?\d{1,2}\.?\s[^\W\d]{3,12}\.?\s(?:19|20)\d\d\b.*$|"
    r"(?<!^the)(?<=\w\w)\s+(?:the\s)?associated press$|"
    r"\s+(?-i:[Ff]or (?:[A-Z][\w.]+ ?){1,4})$",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_EDITED = re.compile(r"[;,.]?\s*\bedit(?:ing|ed) by\b.*", re.IGNORECASE)
_IN_PLACE = re.compile(
    r"\s(?:in|aus|from)\s[A-ZÄÖÜ][\w.'’-]+(?:\s[A-ZÄÖÜ][\w.'’-]+){0,2}"
    r"(?:,\s(?:(?:New|North|South|West|East|United|Saudi|Sri|Costa|Puerto|El)\s)?[A-ZÄÖÜ][\w.]+)?"
    r"(?=$|[,;]|\s(?:and|und)\s)"
)
"""The place of a reporter after the name, as in "Jane Doe in Munich, Germany"."""
_OFFICE = re.compile(r"\s?(?:기자|특파원|記者|记者)$")
"""Job titles (reporter, correspondent) after the name in Korean, Japanese and Chinese."""
_ROLES = (
    r"(?:writer|reporter|correspondent|editor|columnist|contributor|producer|analyst|journalist|author|"
    r"critic|newsroom|desk)"
)
_KINDS = (
    r"(?:senior|chief|staff|deputy|assistant|associate|contributing|guest|special|managing|political|"
    r"business|health|science|sports?|technology|tech|world|news|foreign|features?|education|environment|"
    r"economics?|national|local|crime|legal|royal|europe|us|uk)"
)
_ROLE_BEHIND = re.compile(rf"(?<=\w\s)(?<=\w\w\s){_KINDS}(?:\s{_KINDS}){{0,3}}\s{_ROLES}$", re.IGNORECASE)
"""A job title directly after a name, without a comma: "Jane Doe Political Editor"."""
_OFFICE_ALONE = re.compile(rf"{_KINDS}(?:\s{_KINDS}){{0,3}}\s{_ROLES}s?$", re.IGNORECASE)
_ROLE = re.compile(
    rf"^(?:[\w-]+\s){{0,3}}{_KINDS}\s(?:[\w-]+\s){{0,2}}{_ROLES}s?$|^[\w-]+\s{_ROLES}s?$", re.IGNORECASE
)
"""A part of a byline that is a job title and not a name. It is removed only if names remain."""
_DEGREES = word_set("md phd ph dr jr sr ii iii iv mba ma msc bsc rn rd esq dds llm")
_NOT_A_NAME = re.compile(
    r"https?:|www\.|\.(?:com|org|net|ru|html?)/|^/|@|[<>{}=_#*\\]|\$\$|%|\d{2}|\b(?:updated|published|posted|veröffentlicht|"
    r"comments?|share|follow|subscribe|photos?|photograph(?:s|y)|fotos?|image|video|"
    r"copyright|all rights|read more|reporter|correspondent|editor|journalist|journalistin|redakteur(?:in)?|"
    r"redaktor|autor|admin(?:istrator)?|"
    r"contributor|contributors|read|minutes?|min|ago|edited|editing|additional reporting|contact|email|"
    r"more from|"
    r"корреспондент|редактор|обозреватель|специально для|"
    r"журналист|опубликовано|обновлено|фото|источник|читать|подписаться)\b|"
    r"^(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?\s\d$",
    re.IGNORECASE,
)
_EMPTY = word_set(
    "admin administrator author autor автор editor redaktion redakcja redakce redacción redacao redação "
    "redactie redazione редакция редакція редактор redacția redakcija uredništvo szerkesztőség toimitus "
    "array red staff agency agencies redaktionen die la the редакции",
    "null none undefined unknown anonymous user guest name nan n a false true webmaster root superuser",
)
_SHORT = re.compile(r"(?:\b(?-i:[A-ZА-Я])|\b[JS]r)\.$")
"""A full stop that is part of the name, as in "Smith Jr."."""


def clean_authors(values: Iterable[str]) -> list[str]:
    """Return the names in the bylines ``values``. Each name is returned once.

    >>> clean_authors(["By Jane Doe and John Roe, jane@example.org"])
    ['Jane Doe', 'John Roe']
    """
    names: list[str] = []
    seen: set[str] = set()
    for value in islice(values, MAX_BYLINES):
        found = list(_names(value))
        # Beside the name of a person, "Science Desk" is a job title and is removed. Alone, it is the author.
        persons = [name for name in found if not _ROLE.match(name)]
        for name in persons or found:
            if key(name) not in seen and len(names) < MAX_AUTHORS:
                seen.add(key(name))
                names.append(name)
    return names


def _names(value: str) -> Iterator[str]:
    text = _IN_PLACE.sub("", _EDITED.sub("", _ADDRESS.sub(" ", plain(value[:1000]))).strip())
    text = BY.sub("", _PLACED.sub("", text))
    # Open Graph defines article:author as the URL of a profile, and many sites follow it.
    if not text or text.startswith(("http:", "https:", "/", "www.")):
        return
    for part in _SPLIT.split(text):
        # Each part may have its own "by" and its own job title: "Text: Jane Doe, Fotos: John Roe".
        name = BY.sub("", (part or "").strip(' \t,:;-–—|="«»“”').lstrip("."))
        name = _OFFICE.sub("", _TAIL.sub("", name))
        name = name if _OFFICE_ALONE.match(name) else _ROLE_BEHIND.sub("", name).strip(" ,:;-–—|")
        if not _SHORT.search(name):
            name = name.rstrip(". ")
        if is_name(name):
            yield name


def is_name(name: str) -> bool:
    """True if the string may be the name of a person or an editorial office."""
    words = key(name).split()
    if not 2 <= len(name) <= 60 or not any(sign.isalpha() for sign in name):
        return False
    if " ".join(words) in _EMPTY or set(words) <= _EMPTY or "".join(words) in _DEGREES:
        return False
    if name.count("(") != name.count(")"):  # _SPLIT has divided a text in parentheses
        return False
    return len(name.split()) <= 6 and not _NOT_A_NAME.search(name)
