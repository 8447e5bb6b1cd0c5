"""Texts that a site publishes repeatedly, each time with different numbers (such as weather reports)."""

from __future__ import annotations

WEATHER = """Завтра в городе ожидается переменная облачность, местами небольшой дождь. Температура воздуха
ночью {} градусов, днем {} градусов, ветер северо-западный {} метров в секунду, атмосферное давление {}
миллиметра. По области без существенных осадков, на дорогах местами гололедица, видимость в тумане
{} метров."""
MARKETS = """The index closed at {} points, {} per cent from the day before. The euro bought {} dollars and
the pound {} dollars. Oil for delivery next month was at {} dollars a barrel in late trade, analysts
said, as investors waited for the decision of the central bank on its main rate that is due later
this week."""
RESULTS = """Матч регулярного чемпионата завершился со счетом {}:{}. Хозяева забили на {} и {} минутах, гости
ответили голом на {} минуте. После этой игры хозяева набрали очки и остались в верхней части
турнирной таблицы, а гости не смогли улучшить положение перед последними турами первенства, сообщает
пресс-служба лиги."""
TEMPLATES = (WEATHER, MARKETS, RESULTS)
