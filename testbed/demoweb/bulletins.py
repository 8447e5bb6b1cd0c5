"""Weather reports: the same words every day with different numbers. Each report is a news item of its own."""

from __future__ import annotations

import random
import re

from testbed.demoweb.prose import Story, Topic

_EN = """
Weather for edition {n}: between {a} and {b} degrees

The weather office expects {a} degrees in the county for the next hours, less than in the week before.
Wind from the north-west will reach {b} kilometres an hour on the coast and hardly any inland.

By midnight up to {a} millimetres of rain may fall in the hills, and a little less in the valleys. The river
stood at {b} centimetres this morning, which is below the first mark of the flood service.

Air pressure is {a} hectopascals and falling slowly. Drivers should count with sight under {b} metres on
some roads of the district, where the council has vehicles with salt ready until the end of the month.

The sun rises {a} minutes later than a month ago. In the same week of the last years the mean was lower by
{b} tenths of a degree, and the lowest value that the station has noted was far below that.
"""
_RU = """
Погода, выпуск {n}: от {a} до {b} градусов

Синоптики обещают в области {a} градусов в ближайшие часы, это меньше, чем неделей раньше. Порывы
северо-западного ветра достигнут {b} метров в секунду на открытых местах и почти утихнут в низинах.

К полуночи в холмах может выпасть до {a} миллиметров осадков, в долинах немного меньше. Уровень воды в
реке утром составил {b} сантиметров, это ниже первой отметки паводковой службы.

Атмосферное давление держится около {a} миллиметров и медленно падает. Водителей предупреждают о
видимости менее {b} метров на некоторых дорогах района, где до конца месяца дежурят машины с солью.

Солнце встает на {a} минут позже, чем месяц назад. В ту же неделю последних лет средняя температура была
ниже на {b} десятых градуса, а самая низкая на станции оказалась еще намного ниже.
"""
_SLOT = re.compile(r"\{([a-z])\}")


def bulletin(language: str, topic: Topic, author: str, number: int, seed: int) -> Story:
    """Return the report with this number; the result depends only on number and seed."""
    rng = random.Random(f"{seed} {number}")  # the site must be reproducible
    template = (_RU if language == "ru" else _EN).strip()
    text = _SLOT.sub(lambda slot: str(number if slot[1] == "n" else rng.randint(11, 989)), template)
    title, *paragraphs = (" ".join(lines.split()) for lines in text.split("\n\n"))
    return Story(
        language=language,
        topic=topic,
        town="",
        subject="",
        title=title,
        paragraphs=tuple(paragraphs),
        author=author,
    )
