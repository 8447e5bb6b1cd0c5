"""Two hundred articles as in a newsroom. 34 of them are hand-written reports of known events, and all others
are noise.

The noise is weather, sport, markets and accidents from templates, in Russian, English and German. If a
noise text contains a word of a query, the word occurs once, at the end of the text.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from newsbot.dedup.index import text_key
from newsbot.items import Article

ARTICLES = 200
REGIONAL = ("volga.example", "harbour.example", "kurier.example")
_SITES = {
    "ru": ("vesti.example", "volga.example"),
    "en": ("courier.example", "harbour.example"),
    "de": ("tagblatt.example", "kurier.example"),
}
_TEMPLATES = {
    "ru": (
        ("Погода в городе {city}: до {n} градусов", "Синоптики обещают {n} градусов и слабый ветер."),
        ("{city} обыграл соперника со счётом {n}:1", "Матч собрал {n} тысяч зрителей."),
        ("Авария в городе {city}: пострадали {n} человек", "Полиция опросила {n} свидетелей."),
        ("Акции завода {city} подорожали на {n} процентов", "За неделю бумаги прибавили {n} процентов."),
    ),
    "en": (
        ("{city} weather: {n} degrees and light winds", "Forecasters expect {n} degrees by noon."),
        ("{city} win by {n} points in the league", "A crowd of {n} thousand watched the match."),
        ("{n} hurt in crash near {city}", "Police spoke to {n} witnesses."),
        ("Shares of {city} Steel rise {n} per cent", "The shares gained {n} per cent in a week."),
    ),
    "de": (
        ("Wetter in {city}: bis {n} Grad", "Meteorologen erwarten {n} Grad und schwachen Wind."),
        ("{city} siegt mit {n} Punkten Vorsprung", "Das Spiel sahen {n} tausend Zuschauer."),
        ("Unfall bei {city}: {n} Verletzte", "Die Polizei befragte {n} Zeugen."),
        ("Aktien von {city} Stahl legen {n} Prozent zu", "In einer Woche gewannen sie {n} Prozent."),
    ),
}
_CITIES = {
    "ru": ("Тверь", "Пермь", "Казань", "Омск", "Рязань", "Тула", "Псков"),
    "en": ("Leeds", "Derby", "Exeter", "Preston", "Luton", "Durham", "Oldham"),
    "de": ("Ulm", "Passau", "Regensburg", "Linz", "Krems", "Ingolstadt", "Kelheim"),
}
_LAST = {
    "ru": ("Затем движение по мосту открыли.", "Мэр не ответил на вопросы.", "Поезда шли по расписанию."),
    "en": ("Traffic over the bridge was slow.", "The mayor had no comment.", "Trains ran on time."),
    "de": ("Auf der Brücke gab es Stau.", "Der Bürgermeister äußerte sich nicht.", "Die Bahn fuhr."),
}
_MIDDLE = {
    "ru": "Подробностей пока нет, но жители следят за новостями и ждут завтрашнего дня с интересом.",
    "en": "There were no further details, but people in the area follow the news and wait for tomorrow.",
    "de": "Weitere Einzelheiten gibt es nicht, doch die Leute verfolgen die Nachrichten und warten ab.",
}

BY_HAND = """
en-bridge courier.example 2 Anna Smith
New bridge over the Tame opens to traffic
The new bridge over the River Tame opened on Thursday. Mayor Helen Ward cut the ribbon before the first buses
crossed. It took four years to build.

en-bridge-copy harbour.example 2 Agency
First buses on a new crossing
The new bridge over the River Tame opened on Thursday. Mayor Helen Ward cut the ribbon before the first buses
crossed. It took four years to build. Readers of this paper waited for it, and many came to look.

en-toll courier.example 5 John Carter
Drivers protest against bridge toll
Lorry drivers blocked the bridge to protest against the toll. The council said the toll would stay.

en-tunnel harbour.example 6 Anna Smith
Tunnel under the harbour floods after storm
Pumps failed in the tunnel after a night of heavy rain. Engineers expect the tunnel to stay closed for a week.

en-rail courier.example 7 Jane Moss
Rail strike stops trains in the north
Train drivers walked out over pay. The union said the strike would last three days.

en-oil courier.example 8 Jane Moss
Oil depot hit in air strike
An air strike set an oil depot on fire. Oil prices rose by four per cent.

en-marathon harbour.example 9 John Carter
Thousands run the harbour marathon
More than nine thousand runners took part. The winner was running her first marathon.

en-library courier.example 10 Anna Smith
Town hall plans to close three libraries
The town hall wants to save money. Readers have started a petition to keep every library open.

en-election harbour.example 12 Peter Hall
Mayor Ward wins second term
Helen Ward was elected mayor again with 54 per cent of the vote. The town was quiet, and the hall was empty.

en-vaccine courier.example 14 Jane Moss
Covid-19 vaccine offered to people over 65
Clinics give the covid-19 vaccine from Monday. Nobody pays for it.

en-builders harbour.example 15 Peter Hall
Builders find Roman wall
Workers at a building site found a wall from Roman times. The building work stopped.

en-fresh courier.example now Jane Moss
Lighthouse lit again after sixty years
Volunteers repaired the lamp of the lighthouse.

de-bruecke tagblatt.example 3 Jonas Vogel
Neue Brücke über die Donau freigegeben
Die neue Brücke ist seit Freitag befahrbar. Bürgermeisterin Ilse Brandt sprach von einem Tag der Freude.

de-maut kurier.example 6 Eva Stein
Maut auf der Brücke bleibt umstritten
Pendler klagen gegen die Maut. Der Stadtrat will die Einnahmen für Radwege verwenden.

de-hochwasser kurier.example 4 Eva Stein
Hochwasser: Pegel der Donau steigt weiter
Die Feuerwehr hat Sandsäcke verteilt. Die Häuser am Ufer wurden geräumt.

de-streik tagblatt.example 7 Jonas Vogel
Streik legt den Bahnverkehr lahm
Lokführer streiken bis Sonntag. Reisende weichen auf Busse aus.

de-wahl kurier.example 12 Jonas Vogel
Ilse Brandt gewinnt die Wahl
Die Bürgermeisterin wurde mit 56 Prozent wiedergewählt. Die Beteiligung war gering.

de-wohnungen tagblatt.example 15 Karl Huber
Hundert Wohnungen am Bahnhof fertig
Die neuen Häuser stehen am alten Bahnhof. Jedes Haus hat einen Garten auf dem Dach.

de-oel tagblatt.example 8 Karl Huber
Ölpreis steigt nach Angriff auf Lager
Nach einem Angriff auf ein Lager stieg der Ölpreis um vier Prozent.

de-bibliothek kurier.example 10 Eva Stein
Drei Bibliotheken sollen schließen
Die Stadt will sparen. Leserinnen sammeln Unterschriften für ihre Bibliothek.

de-theater tagblatt.example 16 Karl Huber
Theater spielt Faust im Steinbruch
Das Theater zeigt Goethe unter freiem Himmel. Die Premiere war ausverkauft.

de-fresh kurier.example now Eva Stein
Leuchtturm brennt wieder
Freiwillige haben die Lampe repariert.

ru-most vesti.example 2 Мария Лебедева
Новый мост через Волгу открыт для движения
Движение по новому мосту открыли в четверг. Мэр Сергей Орлов перерезал ленту.
Строительство заняло четыре года.

ru-plata volga.example 5 Пётр Ким
Плату за проезд по мосту снизят вдвое
Губернатор обещал снизить плату за проезд. Водители требовали отменить её совсем.

ru-pavodok volga.example 4 Пётр Ким
Паводок: вода в Волге поднялась на метр
Спасатели раздали мешки с песком. Дома на берегу освободили.

ru-zabastovka vesti.example 7 Мария Лебедева
Забастовка машинистов остановила поезда
Машинисты бастуют до воскресенья. Пассажиров везут автобусы.

ru-vybory volga.example 12 Мария Лебедева
Сергей Орлов победил на выборах
Мэра избрали на второй срок. За него голосовали 54 процента жителей.

ru-stroiteli volga.example 15 Иван Гусев
Строители сдали сто квартир у вокзала
Новые дома стоят у старого вокзала. Строительство шло два года.

ru-neft vesti.example 8 Иван Гусев
Нефть подорожала после удара по складу
Цена нефти выросла на четыре процента. Удар пришёлся по складу топлива.

ru-biblioteki volga.example 10 Анна Смирнова
Читатели просят не закрывать библиотеки
В городе хотят закрыть три библиотеки. Читатели собирают подписи.

ru-elka vesti.example 16 Анна Смирнова
Ёлку на площади нарядили школьники
Школьники сделали игрушки своими руками.

ru-maski vesti.example 14 Иван Гусев
В аптеках нет дефицита масок
Врачи советуют носить маску в поезде. О covid-19 напоминают плакаты.

ru-marafon volga.example 9 Пётр Ким
Тысячи людей пробежали марафон у реки
Бегуны прошли по набережной. Победитель бежал марафон впервые.

ru-fresh volga.example now Анна Смирнова
Маяк снова горит после ремонта
Добровольцы починили лампу маяка.
"""
"""Name, site, day of May 2024 (``now``: three hours ago), author; headline; text."""


def articles() -> Iterator[Article]:
    """Yield all articles."""
    written = [one.strip().splitlines() for one in BY_HAND.strip().split("\n\n")]
    for head, title, *lines in written:
        name, site, day, author = head.split(" ", 3)
        story = "opening" if name.startswith("en-bridge") else None
        fields = {"authors": [author], "language": name[:2], "story": story}
        yield _article(name, site, day, title, " ".join(lines), **fields)
    draw = random.Random(5)
    for number in range(ARTICLES - len(written)):
        language = ("ru", "en", "de")[number % 3]
        names = {"city": draw.choice(_CITIES[language]), "n": draw.randrange(3, 40)}
        title, first = draw.choice(_TEMPLATES[language])
        text = f"{first} {_MIDDLE[language]} {draw.choice(_LAST[language])} {number}.".format(**names)
        site, day = draw.choice(_SITES[language]), str(draw.randrange(2, 20))
        yield _article(f"noise-{number}", site, day, title.format(**names), text, language=language)


def _article(name: str, site: str, day: str, title: str, text: str, **fields: object) -> Article:
    now = datetime.now(UTC) - timedelta(hours=3)
    published = now if day == "now" else datetime(2024, 5, int(day), 9, tzinfo=UTC)
    url = f"https://{site}/{name}"
    return Article(
        url=url,
        canonical_url=url,
        source=site,
        title=title,
        text=text,
        published_at=published,
        fetched_at=published,
        content_hash=text_key(f"{title} {text}"),
        **fields,  # type: ignore[arg-type]
    )
