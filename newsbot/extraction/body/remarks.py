"""Lines that a site says beside its articles, known by their words alone, in many languages.

They are taken out of a text after it was found; the learned trees do not know of them.
"""

from __future__ import annotations

import re

from newsbot.extraction.blocks import Block
from newsbot.extraction.notices import speaks_of_consent

_LONGEST = 400
_LONGEST_POINTER = 200
_LONGEST_CREDIT = 90
_POINTER = re.compile(
    r"^\W{0,3}(?:(?:関連(?:記事|ニュース|リンク)|あわせて読みたい|相关(?:阅读|新闻|报道)|相關(?:閱讀|新聞|報導)|"
    r"延伸(?:閱讀|阅读)|推荐阅读|更多阅读|관련\s?(?:기사|뉴스))"
    r"(?:はこちら|一覧|请点击|點此|推荐|推薦|\s?(?:보기|더보기))?\s{0,2}(?:[:：|>】）)\]]|$)|"
    r"(?:[إا]قر[أا] (?:أيض|المزيد|كذلك)|"
    r"شاهد (?:أيض|كذلك)|קראו (?:גם|עוד)|(?:بیشتر )?بخوانید|(?:यह|ये) भी पढ़ें|ayrıca (?:okuyun|bak)|"
    r"bunu da oku|olvass(?:a|on|ák)? el|přečtěte si|"
    r"czytaj dalej|прочитайте также|читайте ещё)[^:：|]{0,20}(?:[:：|]|$))",
    re.IGNORECASE,
)
"""Where no spaces part words a label must end at once: "相关报道称：" begins a sentence."""
_COUNTED = re.compile(
    r"^\W{0,3}(?:(?:estimated )?(?:reading time|read time|lesezeit|lesedauer|temps de lecture|lecture|"
    r"tiempo de lectura|tempo d[ei] (?:leitura|lettura)|leestijd|czas czytania|время (?:чтения|на чтение)|"
    r"час читання|okuma süresi|lästid|lesetid|læsetid)\W{1,3}(?:(?:ca|env|ок)\.?\s)?\d{1,3}\s?\D{1,10}|"
    r"\d{1,3}[ -]?min(?:ute)?s?\.?\s(?:read|de lectura|de lecture|di lettura|de leitura|чтения)|"
    r"\d[\d.,\s]{0,9}[km]?\s(?:views|reads|shares|просмотр\w{0,3}|перегляд\w{0,3}|visualizações|vistas|vues|"
    r"görüntülenme|aufrufe|wyświetleń))\W{0,3}$",
    re.IGNORECASE,
)
"""How long the text takes to read, how often it was read."""
_ASKING = re.compile(
    r"^\W{0,3}(?:follow (?:our|the) .{0,40}\b(?:channel|whatsapp|telegram)\b|"
    r"(?:please )?support (?:our|independent|local|quality|free) (?:journalism|newsroom|reporting)\b)",
    re.IGNORECASE,
)
_LONGEST_COUNT = 45
_PICTURE = r"(?:photos?|photograph|foto|bild|image|imagen|фото|zdjęcie|fot\.)"
_CREDITED = re.compile(
    rf"\({_PICTURE}\s{{0,2}}(?::|by\b|©|/)[^()]{{2,60}}\)\W{{0,2}}$|"
    rf"[.!?…»”\"|]\s{_PICTURE}\s{{0,2}}(?::|©)[^.:!?]{{2,20}}\.?[^.:!?]{{2,40}}\W{{0,2}}$",
    re.IGNORECASE,
)
"""A caption that ends with its photographer."""
_WE = re.compile(
    r"^[^\w\"'“„«‘「]{0,3}(?:we\b|our site|this (?:site|website)|by (?:clicking|continuing)|wir\b|"
    r"diese (?:web)?seite|"
    r"nous\b|ce site|nosotros\b|este sitio|utilizamos|noi\b|questo sito|мы\b|этот сайт|наш сайт|ми\b|"
    r"używamy|ta strona)",
    re.IGNORECASE,
)


def is_remark(text: str) -> bool:
    """True for a pointer to another article, a caption that ends with its photographer, a count of readers.

    So for an appeal to follow or to give.
    """
    if len(text) > _LONGEST_POINTER:
        return False
    if (len(text) <= _LONGEST_COUNT and _COUNTED.match(text)) or _ASKING.match(text):
        return True
    return bool(_POINTER.match(text) or _CREDITED.search(text, max(0, len(text) - _LONGEST_CREDIT)))


def asks_reader(text: str) -> bool:
    """True for a line in which the site asks for consent to cookies."""
    return len(text) <= _LONGEST and bool(_WE.match(text)) and speaks_of_consent(text)


def without_questions(blocks: list[Block]) -> list[Block]:
    """Return ``blocks`` without such lines, unless the text is hardly anything else."""
    kept = [block for block in blocks if not asks_reader(block.text)]
    letters = sum(len(block.text) for block in kept)
    return kept if 2 * letters >= sum(len(block.text) for block in blocks) else blocks
