"""Recognises news agencies among the authors and sources of a page.

Each agency has several spellings, which are all converted to one name.
"""

from __future__ import annotations

from collections.abc import Iterable

from newsbot.extraction.page.jsonld import texts
from newsbot.extraction.page.page import Page
from newsbot.extraction.strings import key, word_set

# The spellings of each agency, separated by "|".
_NAMES = {
    "Reuters": "reuters|thomson reuters|рейтер|ройтерс",
    "AP": "ap|associated press|the associated press|ap news",
    "AFP": "afp|agence france presse|agence france-presse|афп",
    "dpa": "dpa|deutsche presse agentur|dpa afx",
    "TASS": "tass|тасс|итар тасс",
    "RIA Novosti": "ria novosti|рия новости|риа новости",
    "Interfax": "interfax|интерфакс|interfax ukraine|интерфакс украина",
    "Ukrinform": "ukrinform|укринформ|укрінформ",
    "UNIAN": "unian|униан|уніан",
    "EFE": "efe|agencia efe",
    "ANSA": "ansa|agenzia ansa",
    "Xinhua": "xinhua|新华社|新華社|синьхуа",
    "Kyodo": "kyodo|kyodo news|共同通信",
    "Jiji": "jiji|時事通信",
    "Yonhap": "yonhap|연합뉴스|yonhap news",
    "PAP": "pap|polska agencja prasowa",
    "ČTK": "čtk|ctk",
    "APA": "apa|austria presse agentur",
    "Keystone-SDA": "sda|keystone sda|sda ats",
    "NTB": "ntb",
    "TT": "tt|tt nyhetsbyrån",
    "Ritzau": "ritzau",
    "STT": "stt",
    "Belga": "belga|belga news agency",
    "ANP": "anp",
    "Lusa": "lusa|agência lusa",
    "PTI": "pti|press trust of india",
    "ANI": "ani|asian news international",
    "IANS": "ians",
    "Anadolu": "anadolu|anadolu ajansı|anadolu agency",
    "PA": "pa|pa media|press association",
    "AAP": "aap|australian associated press",
    "CP": "canadian press|the canadian press",
    "Bloomberg": "bloomberg|bloomberg news",
    "Europa Press": "europa press",
    "MTI": "mti",
    "BelTA": "belta|белта",
    "Kazinform": "kazinform|казинформ",
}
_BY_NAME = {name: agency for agency, names in _NAMES.items() for name in map(key, names.split("|"))}
_AROUND = word_set("von mit with and und by via news agency from")


def agency_of(name: str) -> str | None:
    """Return the agency that ``name``, a name in a byline, stands for, or None if it is not an agency.

    >>> agency_of("Agence France-Presse")
    'AFP'
    """
    # The name is compared without words such as "mit" in "mit dpa". Then it is compared with all its words,
    # because "belga news agency" is a spelling of its own.
    words = [word for word in key(name).split() if word not in _AROUND]
    return _BY_NAME.get(" ".join(words)) or _BY_NAME.get(key(name))


def named_agencies(page: Page, authors: Iterable[str]) -> list[str]:
    """Return the agencies among ``authors`` and in the page's metadata about its sources.

    Each agency is returned once.
    """
    node = page.article or {}
    stated = [
        text
        for field in ("sourceOrganization", "provider", "creditText", "contributor")
        for text in texts(page.nodes.follow(node.get(field)))
    ]
    stated += page.meta_all("article:source", "source", "source-organization", "news_source", "dc.source")
    found = [agency_of(name) for name in (*authors, *stated[:20])]
    return list(dict.fromkeys(agency for agency in found if agency is not None))
