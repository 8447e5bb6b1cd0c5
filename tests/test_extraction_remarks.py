"""What a site says beside its articles, and other articles on one page."""

from __future__ import annotations

import pytest

from newsbot.extraction.blocks import Block
from newsbot.extraction.body.remarks import asks_reader, is_remark
from newsbot.extraction.body.tidy import tidy
from tests.extraction_pages import PROSE, TEXT, page, read


@pytest.mark.parametrize(
    "line",
    [
        "関連記事：街の雪についての別の話",
        "相关阅读：关于城里下雪的另一个故事",
        "延伸閱讀：關於城裡下雪的另一個故事",
        "관련기사: 도시의 눈에 대한 또 다른 이야기",
        "اقرأ أيضاً: قصة أخرى عن الثلج في المدينة",
        "קראו גם: סיפור אחר על השלג בעיר",
        "بیشتر بخوانید: داستان دیگری درباره برف",
        "यह भी पढ़ें: शहर में बर्फ की एक और कहानी",
        "Ayrıca okuyun: Şehirdeki kar hikayesi",
        "Přečtěte si také: Jiný příběh o sněhu",
        "The dam at night, seen from the road (Photo: Jane Doe)",
        "Плотина ночью (Фото: Иван Петров)",
        "The dam at night, seen from the road. Photo: J. Doe",
        "Der Damm am Sonntag. Foto: Eva Schmidt/dpa",
        "Плотина ночью. Фото: Иван Петров / ТАСС",
        "3 min read",
        "1,234 views",
        "Lesezeit: ca. 4 Minuten",
        "Время чтения: 3 мин.",
        "Follow our WhatsApp channel for the latest news.",
        "Support independent journalism. Please consider a donation today.",
        "関連記事はこちら：街の雪についての別の話",
        "관련기사 보기",
        "We and our 842 partners store and access information on a device, such as cookies.",
        "Wir verwenden Cookies mit Ihrer Zustimmung. Mehr dazu im Datenschutz.",
    ],
)
def test_remarks(line: str) -> None:
    assert is_remark(line) or asks_reader(line)
    assert line not in read(page(body=f"<p>{line}</p>{TEXT}<p>{line}</p>")).text


@pytest.mark.parametrize(
    "line",
    [
        "We will not repair the dam before the summer, the mayor said.",
        "The court ruled that a shop may not store cookies before a visitor gives consent to tracking.",
        "相关部门表示，道路将在周日重新开放。",
        "اقرأ الكتاب، قال المدير للأطفال في المدرسة.",
        "She took a photo (the first of that day) of the dam.",
        "相关报道指出：「该公司去年亏损十亿元，今年继续裁员。」",
        "関連記事によると：政府は来月、新しい法案を提出する方針だ。",
        "관련 뉴스가 나오자 시장은: 크게 흔들렸다고 그는 말했다.",
        "“We use cookies and tracking without your consent,” an internal memo of the firm said.",
        "3 minutes later the bridge fell.",
        "90 min",
        "Support for the plan fell to 34 percent.",
        "The album had one photo: a river, a dam and a boat that nobody had painted.",
        "",
    ],
)
def test_sentences_that_only_begin_like_remarks(line: str) -> None:
    assert not is_remark(line)
    assert not asks_reader(line)


@pytest.mark.parametrize(
    "line",
    [
        "Copyright law is at the heart of the case, the judge said on Monday.",
        "Sigara zammı son dakika: JTI grubu fiyatlarını artırdı, yeni liste açıklandı.",
        "Sigarette elettroniche, arriva la stretta del governo sui minori.",
        "Photos by satellites showed smoke over the port on Sunday, hours after the first reports.",
    ],
)
def test_sentences_that_begin_like_an_appeal_or_a_credit_stay(line: str) -> None:
    assert [block.text for block in tidy([Block("paragraph", line)])] == [line]


@pytest.mark.parametrize(
    "line",
    [
        "Copyright 2024 The Paper",
        "Copyright by the publisher. All rights reserved.",
        "Siganos en Facebook",
        "Photos by the author",
        "Photos by Jane Doe, who has worked for the paper since 2011, and by friends.",
    ],
)
def test_appeals_and_credits_go(line: str) -> None:
    assert tidy([Block("paragraph", line)]) == []


SNOW = "".join(f"<p>In night {n} the snow was deep, and no plough of the county came.</p>" for n in range(9))


def test_entries_of_a_live_blog_are_no_other_articles() -> None:
    entries = "".join(
        f"<article><h1>At {n} the water rises</h1><time datetime='2024-05-03T1{n}:00:00Z'></time>"
        f"<p>At {n} in the morning the water stood {n} metres high, the brigade said.</p></article>"
        for n in range(9)
    )
    html = page(body=f"{TEXT * 2}</article>{entries}<article>")
    assert "stood 7 metres" in read(html, "https://www.example.org/live/rain-closes-road").text
    assert "stood 7 metres" not in read(html).text


def test_a_second_article_below_the_first_is_another_one() -> None:
    second = f"</article><article><h1>Snow closes the upper road for two days</h1>{SNOW}"
    article = read(page(body=TEXT * 2 + second))
    assert PROSE[0] in article.text
    assert "the snow was deep" not in article.text


@pytest.mark.parametrize(
    "second",
    [
        f"<h1>Snow closes the upper road</h1>{SNOW}",
        f"<article><h1>Snow closes the upper road</h1>{SNOW}</article>",
        f"</article><article><h1>Rain closes the lower road</h1>{SNOW}",
        f"</article><article><h2>What else is known</h2>{SNOW}",
    ],
)
def test_parts_of_one_article_stay(second: str) -> None:
    assert "the snow was deep" in read(page(body=TEXT * 2 + second)).text
