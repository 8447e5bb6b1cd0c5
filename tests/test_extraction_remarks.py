"""What a site says beside its articles, and other articles on one page."""

from __future__ import annotations

import pytest

from newsbot.extraction.remarks import asks_reader, is_remark
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
        "",
    ],
)
def test_sentences_that_only_begin_like_remarks(line: str) -> None:
    assert not is_remark(line)
    assert not asks_reader(line)


SNOW = "".join(f"<p>In night {n} the snow was deep, and no plough of the county came.</p>" for n in range(9))


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
