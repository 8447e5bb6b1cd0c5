"""Recognises pages with a message of the site: errors, bot challenges, logins and cookie consent."""

from __future__ import annotations

import re

from newsbot.extraction.strings import size

_ERROR = re.compile(
    r"^\W*(?:error\W*)?(?:40[0134]|410|50[0234])\b.{0,40}$|page (?:not|cannot be|could not be) found|"
    r"not found$|^oops\W*$|^oops\b.{0,30}(?:page|found|wrong|error|missing).{0,20}$|"
    r"access denied|^forbidden|service unavailable|something went wrong|"
    r"(?:that|this) page (?:is gone|does(?: no|n['’])t exist)|"
    r"internal server error|bad gateway|страница не найдена|страницы не существует|такой страницы нет|"
    r"доступ (?:запрещен|ограничен)|ошибка \d{3}|^ошибка$|"
    r"сторінк\w+ не знайдено|сторінки не існує|страницата не е намерена|seite (?:wurde )?nicht gefunden|"
    r"page (?:non trouvée|introuvable)|página no encontrada|página não encontrada|pagina non trovata|"
    r"pagina (?:niet gevonden|nu a fost găsită)|nie znaleziono strony|strona nie istnieje|"
    r"stránk[ay] (?:nenalezena|neexistuje|sa nenašla)|stranica nije pronađena|strani ni mogoče najti|"
    r"(?:sidan|siden|side) (?:kunde inte hittas|finns inte|ble ikke funnet|finnes ikke|blev ikke fundet)|"
    r"sivua ei l[öo]y|lehte ei leitud|puslapis nerastas|lapa nav atrasta|oldal nem található|"
    r"σελίδα δεν βρέθηκε|sayfa bulunamadı|səhifə tapılmadı|halaman tidak ditemukan|không tìm thấy trang|"
    r"ไม่พบหน้า|页面(?:不存在|未找到)|頁面不存在|找不到(?:頁面|页面|网页)|ページが見つかりません|"
    r"페이지를 찾을 수 없|الصفحة غير موجودة|صفحه (?:مورد نظر )?(?:یافت|پیدا) نشد|הדף לא נמצא|पेज नहीं मिला|"
    r"(?:could|can)(?:n['’]t| ?not) find (?:the|that|this|your) page(?: (?:you|that).{0,30})?$|"
    r"(?:diese |die )?seite existiert (?:leider )?nicht(?:.{0,12}$)?|seite konnte (?:\w+ )?nicht gefunden|"
    r"strona (?:\w+ ){0,2}nie (?:została znaleziona|istnieje)|pagina (?:\w+ ){0,3}nu (?:există|"
    r"a fost găsită)|"
    r"pagina (?:\w+ ){0,3}(?:bestaat|werd|is) (?:\w+ )?niet(?: \(?meer\)?)?|"
    r"(?:cette |la )?page (?:\w+ ){0,3}n['’]existe (?:pas|plus)|"
    r"página (?:\w+ ){0,3}(?:no|não) (?:existe|fue encontrada|foi encontrada|se encuentra)|"
    r"pagina (?:\w+ ){0,3}non (?:esiste|è stata trovata)|"
    r"sid(?:an|en) (?:\w+ ){0,3}(?:(?:finns|finnes|findes|hittades|hittas|eksisterer) (?:\w+ )?(?:inte|"
    r"ikke))|"
    r"страниц\w(?:,? \w+){0,3},? не (?:найдена|существует)|сторінк\w (?:\w+ ){0,3}не (?:існує|знайден\w)|"
    r"stránka (?:\w+ ){0,3}(?:neexistuje|nebyla nalezena|nebola nájdená)|sivua ei ole|"
    r"(?:erreur|fehler|błąd|chyba|hiba|помилка|hata|virhe|feil|fejl|eroare|greška|erro)\W{1,3}(?:404|410|500)|"
    r"(?:content|article|page|story|post) (?:is )?(?:unavailable|not available|no longer available)|"
    r"not available in your (?:region|country|location|area)|unavailable (?:due to|for) legal reasons|"
    r"(?:page|that) can(?:no|['’])t be found|^nothing (?:was )?found\W*$|"
    r"^no (?:results|articles|posts)(?: found)?\W*$|"
    r"^ничего не найдено\W*$|^keine (?:ergebnisse|treffer)\W*$|^aucun résultat\W*$|^sin resultados\W*$|"
    r"^nessun risultato\W*$|^nenhum resultado|^brak wyników|^nie znaleziono\W*$|.{0,20}見つかりません|"
    r"^error\W*$|^fehler\W*$|^erreur\W*$|^(?:an )?(?:unexpected )?error (?:has )?occurred|"
    r"^(?:(?:this |the |our )?(?:web)?site (?:is )?)?(?:currently )?"
    r"(?:under|down for|undergoing) (?:scheduled )?maintenance|"
    r"^maintenance(?: mode)?\W*$|^технические работы\W*$|^сайт временно недоступен|^wartungsarbeiten\W*$|"
    r"^(?:this )?(?:account|site|website) (?:has been |is )?suspended\W*$|"
    r"^(?:this )?domain(?: name)? (?:is |may be )?for sale|^domain parked|"
    r"^welcome to nginx|^index of /|^it works!$|"
    r"^apache2? .{0,20}default page|^test page for",
    re.IGNORECASE,
)
_CHALLENGE = re.compile(
    r"^just a moment|attention required|checking your browser|verify (?:that )?you are (?:a )?human|are you "
    r"a robot|enable javascript and cookies|"
    r"ddos.?guard|please wait while|captcha|pardon our interruption|^human verification|^security check|"
    r"^one more step|unusual traffic from your|^(?:please )?enable (?:js|javascript)|проверка браузера|"
    r"вы не робот|access to this page has been denied",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"\b(?:log ?in|sign ?in|вход|войти|авторизация|anmelden|connexion|iniciar sesión|accedi|zaloguj)\b",
    re.IGNORECASE,
)
_CONSENT = re.compile(
    r"\b(?:partners (?:store|use|process)|(?:your|store and|process) (?:access )?personal data|"
    r"information on (?:a|your) device|unique identifiers|"
    r"browsing data|device identifiers|privacy (?:cent(?:er|re)|preferences|policy|settings)|"
    r"(?:withdraw|give|your) consent|(?:i|we|you) accept|accept (?:all|cookies)|reject all|tracking|"
    r"(?:change|manage) your (?:choices|cookies|preferences)|personali[sz]ed (?:ads|content|advertising)|"
    r"legitimate interest|cookies?|werbung und (?:cookies|tracking)|zustimmung|einwilligung|ohne werbung|"
    r"personenbezogen\w*|datenschutz\w*|(?:mes|vos) choix|données personnelles|sans accepter|"
    r"accepter et continuer|consentement|nos partenaires|política de privacidad|consentimiento|"
    r"nuestros socios|informativa sulla privacy|consenso|i nostri partner|toestemming|onze partners|"
    r"samtykke|samtycke|обработку персональных|согласие на|zgod[ęay] na|naszych partnerów)\b",
    re.IGNORECASE,
)
_LEAST_CONSENT = 4
"""Minimum number of words about consent (such as "cookies") in a text that only asks for consent."""
_CONSENT_SHARE = 90
"""Maximum number of letters of such a text per word about consent."""
_PARTS = re.compile(r"\s[|–—:-]\s")
_LONG = 1500
"""Maximum length of a text that only asks for consent, in letters."""


def is_error(title: str) -> bool:
    """True if a part of a title is mostly an error message."""
    for part in _PARTS.split(title):
        match = _ERROR.search(part)
        # The message must be at least half of the part, because "Site admits: 'page not found' cost us
        # millions" is a headline.
        if match is not None and (match.end() - match.start()) * 2 >= len(part.strip()):
            return True
    return False


def is_challenge(text: str) -> bool:
    """True for the text of a page that checks whether the visitor is a robot."""
    return _CHALLENGE.search(text) is not None


def is_login(text: str) -> bool:
    """True for a heading that asks the reader to sign in."""
    return _LOGIN.search(text) is not None


def asks_consent(text: str) -> bool:
    """True for a text that only asks for consent to cookies. News about cookies are longer."""
    length = size(text)
    if length > _LONG:
        return False
    found = len(_CONSENT.findall(text))
    return found >= _LEAST_CONSENT and found * _CONSENT_SHARE >= length
