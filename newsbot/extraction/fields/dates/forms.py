"""Defines regular expressions for the forms in which pages write a date, with or without a time.

The groups are ``year``, ``month`` or ``name`` (of the month), ``day``, ``hour``, ``minute``, ``second``,
``half`` (of the day), ``zone`` and ``offset``. All repetitions are bounded.
"""

from __future__ import annotations

import re

from newsbot.text.names import HOURS

ZONE_NAMES = "|".join(sorted(HOURS.keys() - {"met", "mest"}, key=len, reverse=True))
"""Regular expression of the zone names in text.

"met" and "mest" are left out, because they are also words that may follow a time in some languages.
"""
_HALF = r"[AaPp]\.?\s?[Mm]\b\.?|[πμ]\.?\s?μ\b\.?|[صم]\b(?!\.)|صباح\w{1,2}|مساء\w?|[بق]\.ظ"
"""Words after a time that mean before or after noon (English, Greek, Arabic, Persian)."""
AFTERNOON = ("p", "μ", "م", "ب", "오후", "下", "午後", "中", "晚")
"""Beginnings of the words for the second half of the day."""
_HALF_BEFORE = "오전|오후|上午|下午|午前|午後|凌晨|清晨|早上|中午|晚上"
CLOCK = (
    rf"(?:(?P<half_before>{_HALF_BEFORE})\s?)?"
    r"(?P<hour>[01]?\d|2[0-4])"
    r"(?:(?:[:.ч时時點点시]|\s?h)\s?(?P<minute>[0-5]\d|\d(?=[分분]))(?!\d)"
    r"(?:(?:[:.]|[分분]\s?)(?P<second>[0-5]\d)(?!\d)(?:[.,]\d{1,9})?)?)[分분]?"
    rf"(?:\s{{0,2}}(?P<half>{_HALF}))?"
    rf"(?:\s{{0,3}}\(?(?P<zone>{ZONE_NAMES})\b\)?)?"
    r"(?:\s{0,2}(?P<offset>[+\-−](?:(?:0\d|1[0-4])(?::?[0-5]\d)?|(?:(?<=GMT.)|(?<=UTC.)|(?<=GMT\s.)|(?<=UTC\s.))\d(?::[0-5]\d)?))"
    r"(?![\d:]))?"
)
_HOUR_ONLY = r"(?P<hour12>1[0-2]|[1-9])\s?(?P<half12>[AaPp]\.?[Mm]\b\.?)"
# Words between the date and the time, such as "at".
_AT = (
    "at|um|om|o|à|a|alle|ore|в|о|у|г|ж|թ|р|м|года?|года|року|klo|kl|ob|u|v|óra|m|as|às|las|les|saat|pukul|jam|"
    "uhr|the|og|of|r|godz|ura|orele|ora|kell|plkst|ώρα|เวลา|ค.ศ|พ.ศ|في|ساعت|الساعة"
)
_WEEKDAY = (
    r"[(（][^\W\d_]{1,10}\.?[)）]|[月火水木金土日]曜日|(?:星期|周)[一二三四五六日天]|[월화수목금토일]요일|"
    r"\b(?:pazartesi|salı|çarşamba|perşembe|cuma|cumartesi|pazar|hétfő|kedd|szerda|csütörtök|péntek|szombat|"
    r"vasárnap)\b"
)
"""A day of the week between the date and the time."""
_GAP = rf"(?:[\s,;|/·•–—\-]|\b(?:{_AT})\b|[.@]|{_WEEKDAY}){{0,12}}"
_TAIL = rf"(?:{_GAP}(?:{CLOCK}|{_HOUR_ONLY}))?"
_DE = r"(?:\s?(?:(?:de|del|da|do|of|ta['’])\s|d['’]))?"
_SIGN = r"(?:[^\W\d_]|[\u0300-\u036f\u064b-\u0655\u0900-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff])"
"""A letter, or a vowel sign that Python does not count as part of a word."""
_WORD = (
    rf"(?P<name>[\u0e01-\u0e4e]{{1,3}}\.[\u0e01-\u0e2e]|(?:كانون|تشرين)\s\w{{5,6}}|{_SIGN}{{2,18}})['’׳]?\.?"
)
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)"
_OF_YEAR = r"(?:[.,]|\(e\)ko)?(?:[\s\-]?(?:m\.|gada|թ\.|ж\.,?|оны))?"
"""Words after the year if the year comes first (Lithuanian, Latvian, Armenian, Kazakh …)."""
FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        # 2024年5月3日 14:05
        rf"(?<!\d){_YEAR}\s?[年년]\s?(?P<month>\d{{1,2}})\s?[月월]\s?(?P<day>\d{{1,2}})\s?[日일]?{_TAIL}",
        # 2024-05-03 14:05:10 +0300, 2024/5/3, 2024. 5. 3.
        rf"(?<!\d){_YEAR}(?P<mark>[-/.])\s?(?P<month>\d{{1,2}})(?P=mark)\s?(?P<day>\d{{1,2}})(?!\d)\.?(?:T|{_GAP})?(?:{CLOCK})?",
        # 3 мая 2024 г., 14:05; 3rd of May 2024; 3 de mayo de 2024; 3 พฤษภาคม 2567
        (
            rf"(?<!\d){_DAY}(?:st|nd|rd|th|er|º|\.)?[\s,\-/]{{0,3}}{_DE}(?:tháng\s)?{_WORD}"
            rf"[\s,\-/]{{0,3}}{_DE}(?:ค\.ศ\.\s|พ\.ศ\.\s)?(?P<year>(?:19|20|25)\d\d)(?!\d){_TAIL}"
        ),
        # May 3, 2024, 2:05 pm
        rf"(?<![^\W\d_]){_WORD}[\s\-]{{1,3}}{_DAY}(?:st|nd|rd|th)?[\s,\-]{{1,3}}{_YEAR}(?!\d){_TAIL}",
        # 03.05.2024 14:05, 03/05/2024
        rf"(?<![\d.]){_DAY}(?P<mark>[./\-])\s?(?P<month>[0-3]?\d)(?P=mark)\s?{_YEAR}(?![\d]){_TAIL}",
        # 3 tháng 5, 2024; 3 thg 5, 2024
        rf"(?<!\d){_DAY}\s(?:tháng|thg)\s(?P<month>[01]?\d)(?:,?\s|\snăm\s){_YEAR}{_TAIL}",
        # 2024. május 3., 2024 m. gegužės 3 d.
        rf"(?<!\d){_YEAR}{_OF_YEAR}\s{_WORD}\s{_DAY}(?!\d)(?:\.|\s?d\.)?,?{_TAIL}",
        # 2024. gada 3. maijs; 2024 ж. 3 мамыр
        rf"(?<!\d){_YEAR}{_OF_YEAR}\s{_DAY}[.\-]?\s?{_WORD}(?!\w){_TAIL}",
        # 2024 оны 5-р сарын 3
        rf"(?<!\d){_YEAR}\s?оны\s(?P<month>[01]?\d)(?:-?р)?\sсарын\s{_DAY}(?!\d){_TAIL}",
        # 03.05.24
        rf"(?<![\d.]){_DAY}(?P<mark>[./])(?P<month>[01]?\d)(?P=mark)(?P<year>\d\d)(?![\d.]){_TAIL}",
    )
)
BEFORE = re.compile(
    rf"{CLOCK}[\s,;|/·•–—\-]{{1,4}}(?:(?:[^\W\d_]{{1,3}}|[a-z]{{3,6}}day|[a-zäö]{{4,8}}tag)[.,]?[\s,]{{1,3}}){{0,2}}$",
    re.IGNORECASE,
)
"""A time that stands before the date, with or without a day of the week between them."""
# A date without separators: 20240503, 20240503T140500Z.
COMPACT = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(?:T?(\d\d)(\d\d)(\d\d)?(Z|[+-]\d{4})?)?")
# A date as JavaScript or the Unix command "date" prints it: Fri May 03 2024 14:05:00 GMT+0300.
JAVASCRIPT = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d) (?:(\d{4}) )?(\d\d):(\d\d):(\d\d) ?"
    r"([A-Z]{3,4})?([+-]\d{4})?(?: (\d{4}))?"
)
# A time in ISO 8601 that has seconds.
SECONDS = re.compile(r".{10}[T ]\d\d:\d\d:\d\d")
# The fraction after POSIX seconds.
SPLIT_SECOND = re.compile(r"(?<=^\d{10})\.\d{1,9}$")
