"""Names of path segments and query keys that tell kinds of pages apart, in the languages of the sites met."""

from __future__ import annotations


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


LISTS = _words(
    "arama archiv archive archives archivio area arhiv auteur auteurs author author-profile authors autor",
    "autoren avtor avtory buscar cat categories category collection collections columnist columnists",
    "contributor contributors dossier dossiers journalist journalists kategorie keyword keywords kolumne",
    "latest lenta list lists page pages paieska people person personen persons players poisk profil",
    "profile profiles ranking rankings recherche region regions rubric rubrics rubrika rubriki rubrique",
    "search section sections shows staff stats subject subjects suche tag tags team teams teg tegi tema",
    "temy thema theme themen themenspeziale themes topic topics user users word",
)
"""Pages that list others: topics, people, archives, search."""
RUBRICS = _words(
    "categories category kategori kategoria kategorie categoria categorie rubric rubrics rubrik rubrika",
    "rubriki rubrique rubriques section sections seccion sezione sektion ressort temy thema",
)
"""Lists that menus of home pages name as the site's sections."""
UTILITIES = _words(
    "abo abonelik abonnement abos about about-us account advertise advertising agb amp anzeigen app apps",
    "auth bookmarks calendar careers cart cgi-bin checkout comment comments community community-standards",
    "contact contacto contacts contest contests cookie cookies coupon coupons crossword datenschutz",
    "datenschutzerklaerung donate download downloads e-paper embed epaper epg events faq favorites feed",
    "feeds forum forums game games gutscheine help hilfe horoscope horoskop impressum imprint info job",
    "jobs kalender karriere kiosk kontakt kontakte kontakty konto legal live livestream login mailing",
    "mapa marktplatz mediadaten mein mentions-legales my-account newsletter newsletters notifications",
    "o-nas oauth password plan-du-site podcast podcasts pogoda policies policy print privacy",
    "privacy-policy program programm promo puzzles quiz radio redakciya redaktion register registration",
    "registrierung reklama rss service services settings share shop sign-in signin signup sitemap spenden",
    "spiele stellenanzeigen store subscribe subscription subscriptions sudoku support terms",
    "terms-and-conditions terms-of-use tv uber-uns ueber-uns user-account vacancies vakansii",
    "veranstaltungen weather werbung wetter widget wp-admin wp-login.php",
)
"""Pages of the house: accounts, legal notes, services, games."""
ARTICLES = _words(
    "article articles articolo articulo artikel artikkel artikkeli beitrag doc feature features noticia",
    "noticias novosti nyheter post posts stati statya stories story",
)
"""Folders that articles lie in."""
MEDIA = _words(
    "audio bilder bildergalerie foto fotos galerie galleries gallery infographics media mediathek",
    "multimedia photo photogallery photos slideshow video videos",
)
"""Folders of films, pictures and sound, with little text."""
ITEM_KEYS = _words(
    "aid article_id articleid artid doc id idxno item n news_id newsid nid no p sid storyid",
)
"""Query keys whose number names one page."""
LIST_KEYS = _words(
    "category filter offset order page pg q query s search sort start tag text type",
)
"""Query keys that page through, search or filter."""
HOUSE_WORDS = _words(
    "abo abonnement abonnieren agb cookie cookies coupons datenschutz datenschutzerklaerung",
    "datenschutzerklarung datenschutzhinweise gutschein gutscheine impressum kontakt kreuzwortraetsel",
    "login newsletter newsletters podcasts privacy rss subscribe sudoku",
)
"""Words in a slug that give away a page of the house."""
