"""Groups of articles, and which of them a person would put into the same story.

Each article has a letter for the story in which a person would put it. Each group is processed in order and
in reverse order. Differences from the person's judgement are marked with the reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from newsbot.dedup.index import text_key
from newsbot.items import Article
from tests.builders import Desk, make_article, prose
from tests.test_stories import take

Written = tuple[str, str, str]
"""Site, headline, text."""

FORECAST = (
    "Завтра в городе ожидается переменная облачность, местами небольшой дождь. Температура воздуха "
    "ночью {} градусов, днем {} градусов, ветер северо-западный {} метров в секунду, атмосферное "
    "давление {} миллиметра. По области без существенных осадков, на дорогах местами гололедица, "
    "видимость в тумане {} метров, сообщили синоптики."
)
MARKET = (
    "The index closed at {} points in quiet trade on Tuesday as investors waited for the decision of "
    "the central bank on its main rate that is due later this week. The euro bought {} dollars and the "
    "pound {} dollars. Oil for delivery next month was at {} dollars a barrel in late trade, analysts "
    "at several banks said."
)
REPORT = (
    "At least {} people were hurt when a ferry struck the pier of the old harbour on Sunday evening, "
    "the coast guard said. The ship had come from the islands and could not stop in the strong wind. "
    "Passengers fell on the stairs of the upper deck, and the crew helped them ashore before doctors "
    "arrived. The harbour master said that the pier would be closed for repair, and that an inquiry had"
    " begun. Boats to the islands leave from the new harbour until the work is done, the company said "
    "in a statement to its customers."
)
OBITUARY = (
    "The actor {0} has died at the age of {1}, the family said. {0} was known for many parts on the "
    "stage of the national theatre and on television. Colleagues remembered {0} as a warm and modest "
    "person who helped young actors. The funeral of {0} will be held in private."
)
CALENDAR = (
    "Лунный календарь садовода на {} мая: убывающая луна благоприятна для посадки корнеплодов, прополки"
    " и подкормки рассады. Не рекомендуется пересаживать комнатные цветы, обрезать деревья и собирать "
    "семена. Хорошее время для полива и рыхления почвы, обработки от вредителей и подготовки грядок к "
    "новому сезону."
)
CUP = (
    "The team from the north won the {} of the national cup after a hard match in front of a full "
    "house. {} The coach praised the defence and said that the players had earned a rest before the "
    "next weeks of the season. Supporters sang in the streets of the town until late at night, and the "
    "police reported no incidents."
)
DAY = (
    "Прогноз погоды на {0}: {1}. Синоптики советуют водителям быть внимательными на дорогах и соблюдать"
    " дистанцию. Жителям края напоминают о правилах безопасности на воде и в лесу. {2} Подробный "
    "прогноз по районам края читайте на странице гидрометцентра."
)
FLASH = "Police closed the bridge over the river until Monday because of the high water."
FORMULA = "Read more about this and other news of the day on our site."
RUSSIAN = (
    "Правительство России продлило программу поддержки малых городов, сообщила пресс-служба кабинета "
    "министров. Деньги получат сорок регионов, которые подали заявки до конца прошлого года. На них "
    "отремонтируют дороги, школы и больницы. Остальные регионы смогут подать заявки осенью, когда "
    "начнется новый отбор проектов."
)
LOOK_ALIKE = str.maketrans("аеосрх", "aeocpx")
WORDS = prose(1, 300).split()
ABOUT = prose(9, 160)


def window(start: int, length: int) -> str:
    return " ".join(WORDS[start : start + length])


def wrong(reason: str) -> pytest.MarkDecorator:
    return pytest.mark.xfail(strict=True, reason=reason)


FIRST = FORECAST.format(5, 12, 3, 745, 800)
SECOND = FORECAST.format(7, 16, 6, 751, 500)
THIRD = FORECAST.format(2, 9, 8, 739, 300)
FERRY = REPORT.format(42)
PARTS = [prose(number, 60) for number in (2, 3, 4)]
LIVE = "Storm over the coast: live updates"
CASES = {
    "two forecasts of a site": ("AB", [("a", "Погода", FIRST), ("a", "Погода", SECOND)]),
    "and a copy of one elsewhere": (
        "ABA",
        [("a", "Погода", FIRST), ("a", "Погода", SECOND), ("b", "Погода", FIRST)],
    ),
    "three, and copies on two sites": (
        "ABCAB",
        [("a", "П", FIRST), ("a", "П", SECOND), ("a", "П", THIRD), ("b", "П", FIRST), ("c", "П", SECOND)],
    ),
    "each on a site of its own": ("ABC", [("a", "П", FIRST), ("b", "П", SECOND), ("c", "П", THIRD)]),
    "a copy without its last words": (
        "ABA",
        [("a", "П", FIRST), ("a", "П", SECOND), ("b", "П", FIRST.rsplit(maxsplit=6)[0])],
    ),
    "a copy with a beginning of its own": (
        "ABA",
        [("a", "П", FIRST), ("a", "П", SECOND), ("b", "П", f"{prose(5, 12)} {FIRST}")],
    ),
    "a corrected number": ("AA", [("a", "Ferry", FERRY), ("a", "Ferry", REPORT.format(48))]),
    "a corrected number elsewhere": ("AA", [("a", "Ferry", FERRY), ("b", "Ferry", REPORT.format(48))]),
    "a corrected number and its copy": (
        "AAA",
        [("a", "Ferry", FERRY), ("a", "Ferry", REPORT.format(48)), ("b", "Ferry", REPORT.format(48))],
    ),
    "one corrected number of four": (
        "AA",
        [("a", "M", MARKET.format(5120, 1.08, 1.25, 81)), ("a", "M", MARKET.format(5120, 1.08, 1.25, 82))],
    ),
    "a market report of the next day": (
        "AB",
        [("a", "M", MARKET.format(5120, 1.08, 1.25, 81)), ("a", "M", MARKET.format(5133, 1.09, 1.25, 83))],
    ),
    "market reports of two sites": (
        "AB",
        [("a", "M", MARKET.format(5120, 1.08, 1.25, 81)), ("b", "M", MARKET.format(5133, 1.09, 1.24, 83))],
    ),
    "an abridged copy": ("AA", [("a", "M", FERRY), ("b", "M", FERRY.rsplit(". ", 1)[0])]),
    "an update with more numbers": (
        "AA",
        [("a", "Ferry", FERRY), ("a", "Ferry", f"{FERRY} It was built in 1998 and carries 300 people.")],
    ),
    "two obituaries": (
        "AB",
        [
            ("a", "Dies at 84", OBITUARY.format("Mary Ann Sample", 84)),
            ("a", "Dies at 91", OBITUARY.format("John Peter Example", 91)),
        ],
    ),
    "a calendar of two days": ("AB", [("a", "К", CALENDAR.format(3)), ("a", "К", CALENDAR.format(4))]),
    "the same text": ("AA", [("a", "One", prose(6, 200)), ("b", "Other", prose(6, 200))]),
    "an edited copy": (
        "AA",
        [("a", "One", window(0, 200)), ("b", "Other", f"{window(0, 90)} {prose(7, 10)} {window(100, 100)}")],
    ),
    "a copy with another lead": (
        "AA",
        [("a", "One", window(0, 200)), ("b", "Other", f"{prose(7, 40)} {window(20, 180)}")],
    ),
    "two ends of a chain": (
        "AAA",
        [("a", "1", window(0, 200)), ("b", "2", window(80, 200)), ("c", "3", window(40, 200))],
    ),
    "a digest of three": (
        "ABCD",
        [
            *((site, site, text) for site, text in zip("abc", PARTS, strict=True)),
            ("d", "Day", " ".join(PARTS)),
        ],
    ),
    "a short piece of a long text": ("AB", [("a", "1", window(0, 300)), ("b", "2", window(100, 120))]),
    "unlike texts of one headline": (
        "AB",
        [("a", "Bridge opens", prose(1)), ("b", "Bridge opens", prose(2))],
    ),
    "a flash of two sites": (
        "AA",
        [("a", "Bridge closed until Monday", FLASH), ("b", "Bridge closed until Monday", FLASH)],
    ),
    "a flash under two headlines": (
        "AA",
        [("a", "Bridge closed until Monday", FLASH), ("b", "High water: police act", FLASH)],
    ),
    "a flash of another day": (
        "AB",
        [("a", "Bridge closed", FLASH), ("b", "Bridge closed", FLASH.replace("Monday", "Friday"))],
    ),
    "a formula": (
        "AB",
        [("a", "Bridge closed until Monday", FORMULA), ("b", "Ministers meet in town", FORMULA)],
    ),
    "a formula of two words": (
        "AB",
        [("a", "Bridge closed", "Read more"), ("b", "Bridge closed", "Read more")],
    ),
    "a copy with look-alike letters": (
        "AA",
        [("a", "П", RUSSIAN), ("b", "П", RUSSIAN.translate(LOOK_ALIKE))],
    ),
    "a copy in capitals": ("AA", [("a", "П", RUSSIAN), ("b", "П", RUSSIAN.upper())]),
    "a report that grows": (
        "AAA",
        [
            ("a", LIVE, PARTS[0]),
            ("a", LIVE, f"{PARTS[1]} {PARTS[0]}"),
            ("a", LIVE, f"{PARTS[2]} {PARTS[1]} {PARTS[0]}"),
        ],
    ),
    "a copy with a first paragraph of its own": (
        "AA",
        [
            ("a", "Ferry strikes pier in harbour", f"{prose(2, 30)}\n{FERRY}"),
            ("b", "Dozens hurt on ferry in the old harbour", f"{prose(3, 30)}\n{FERRY}"),
        ],
    ),
    "one closing paragraph": (
        "AB",
        [("a", "1", f"{prose(2, 40)}\n{ABOUT}"), ("b", "2", f"{prose(3, 40)}\n{ABOUT}")],
    ),
    "a forecast of another day in words": (
        "AB",
        [
            ("a", "Погода", DAY.format("субботу", "сухо и тепло", "Ветер слабый.")),
            ("a", "Погода", DAY.format("воскресенье", "дождь и град", "Ветер сильный.")),
        ],
    ),
    "a semi-final and a final": (
        "AB",
        [
            ("a", "Cup", CUP.format("semi-final", "They scored in the last minute.")),
            ("a", "Cup", CUP.format("final", "An own goal decided it early on.")),
        ],
    ),
}
WRONG = {
    "a forecast of another day in words": "no number tells the days apart",
    "a semi-final and a final": "no number tells the matches apart",
}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=wrong(WRONG[name]) if name in WRONG else ()) for name in CASES]
)
def test_stories_match_the_judgement_of_a_person(tmp_path: Path, name: str, backwards: bool) -> None:
    expected, written = CASES[name]
    desk = Desk(tmp_path, None, {})
    articles = [article_of(number, *one) for number, one in enumerate(written)]
    for article in articles[::-1] if backwards else articles:
        take(desk, article)
    kept = {one.canonical_url: one.story for one in desk.context.storage.articles.iter()}
    desk.crawl.close()
    stories = [kept[article.canonical_url] for article in articles]
    assert "".join("ABCDE"[list(dict.fromkeys(stories)).index(story)] for story in stories) == expected


def test_at_most_four_of_at_least_thirty_four_are_wrong() -> None:
    assert len(CASES) >= 34
    assert len(WRONG) <= 4


def article_of(number: int, site: str, title: str, text: str) -> Article:
    url = f"https://{site}.test/{number}"
    key = text_key(text)
    return make_article(
        url=url, canonical_url=url, source=f"{site}.test", title=title, text=text, content_hash=key
    )
