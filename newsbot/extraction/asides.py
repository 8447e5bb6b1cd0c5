"""Small signs within a line that are no words of it: counters of comments, notes on how a link opens.

Some sites let readers comment on each paragraph and print the count before its first word
(``<p><a class="comments_count">0</a>The mayor said``); links tell those who cannot see them that they open
a new window. Such words would stand in the middle of sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lxml.html import HtmlElement

MAX_ASIDE = 60
"""Letters that such a sign has at most, white space included."""

_AROUND_COUNT = " \t\r\n\xa0()[]+"
_COUNTS = re.compile(
    r"comment|(?:com|share|like|view|vote|reply|replies)s?[_-]{0,2}(?:count|number)", re.IGNORECASE
)
_OPENS = re.compile(
    r"^\W*(?:(?:this )?(?:external )?(?:link )?(?:will )?opens? (?:external link )?in (?:a )?new "
    r"(?:tab|window)|"
    r"opens new (?:tab|window)|(?:link )?wird in einem neuen (?:tab|fenster) geöffnet|"
    r"(?:link )?(?:öffnet|oeffnet) (?:sich )?(?:in einem|im) neuen (?:tab|fenster)|"
    r"(?:s['’])?ouvre (?:dans )?une? (?:nouvel onglet|nouvelle fenêtre)|nouvelle fenêtre|"
    r"(?:se )?abre en (?:una )?nueva (?:ventana|pestaña)|abre (?:em|numa) (?:uma )?nova (?:janela|aba)|"
    r"(?:si )?apre in una nuova (?:finestra|scheda)|opent in (?:een )?nieuw (?:venster|tabblad)|"
    r"åpnes i (?:et )?nytt vindu|öppnas i (?:ett )?nytt fönster|"
    r"откро?ется в новом окне|открывается в нов(?:ом окне|ой вкладке))\W*$",
    re.IGNORECASE,
)


def without_asides(elements: Iterable[HtmlElement]) -> None:
    """Empty those of the elements (links, spans, raised signs) that hold nothing but such a sign."""
    for element in elements:
        text = element.text
        if text and len(text) <= MAX_ASIDE and not len(element) and _is_aside(element, text):
            element.text = None


def _is_aside(element: HtmlElement, text: str) -> bool:
    if text.strip(_AROUND_COUNT).isdecimal():
        return _COUNTS.search(f"{element.get('class') or ''} {element.get('id') or ''}"[:300]) is not None
    return element.tag == "span" and _OPENS.match(text) is not None
