"""Names of the months as news pages write them, full, in the genitive and abbreviated; in some 60 languages.

The languages here stand in a fixed order: English, Russian, Ukrainian, Belarusian, Bulgarian, German, French,
Spanish, Portuguese, Italian, Romanian, Polish, Czech, Croatian, Turkish, Icelandic, Finnish, Hungarian,
Lithuanian, Latvian, Estonian, Greek, Hebrew, Arabic; Nordic, Dutch and Indonesian names where they differ.
The others are in :mod:`newsbot.text.month_names`.
"""

from __future__ import annotations

from unicodedata import combining, normalize

from newsbot.text.month_names import by_language

_TABLE = """
1: january jan январь января янв січень січня січ студзень студзеня януари януар januar jänner jän januari
    janvier janv enero ene janeiro gennaio gen ianuarie ian styczeń stycznia sty leden ledna led siječanj
    siječnja sij ocak oca janúar tammikuu tammikuuta január sausio saus sausis janvāris janvārī jaanuar
    ιανουάριος ιανουαρίου ιαν ינואר يناير
2: february feb февраль февраля фев февр лютий лютого лют люты лютага февруари фебруар februar feber
    februari février févr fév febrero fevereiro fev febbraio februarie luty lutego únor února úno veljača
    veljače velj şubat şub febrúar helmikuu helmikuuta február vasario vas vasaris februāris februārī
    veebruar φεβρουάριος φεβρουαρίου φεβ פברואר فبراير pebruari
3: march mar март марта мар березень березня бер сакавік сакавіка märz mär mrz maart mrt mars marzo março
    marco mart martie marzec marca březen března bře ožujak ožujka ožu maaliskuu maaliskuuta március márc
    kovo kov kovas marts martā märts μάρτιος μαρτίου μαρ maret מרץ مارس
4: april apr апрель апреля апр квітень квітня кві квіт красавік красавіка април avril avr abril abr aprile
    aprilie kwiecień kwietnia kwi duben dubna dub travanj travnja tra nisan nis apríl huhtikuu huhtikuuta
    április ápr balandžio bal balandis aprīlis aprīlī aprill απρίλιος απριλίου απρ אפריל أبريل ابريل
5: may май мая травень травня трав мај mai mayo maio maggio mag maj maja květen května kvě svibanj svibnja
    svi mayıs maí toukokuu toukokuuta május máj gegužės geg gegužė maijs maijā μάιος μαΐου μαΐ mei מאי مايو
6: june jun июнь июня июн червень червня черв чер чэрвень чэрвеня юни јун juni juin junio junho giugno giu
    iunie iun czerwiec czerwca cze červen června čvn lipanj lipnja lip haziran haz júní kesäkuu kesäkuuta
    június jún birželio birž birželis jūnijs jūnijā juuni ιούνιος ιουνίου ιουν יוני يونيو
7: july jul июль июля июл липень липня лип ліпень ліпеня юли јул juli juillet juil julio julho luglio lug
    iulie iul lipiec lipca červenec července čvc srpanj srpnja temmuz tem júlí heinäkuu heinäkuuta július
    júl liepos liep liepa jūlijs jūlijā juuli ιούλιος ιουλίου ιουλ יולי يوليو
8: august aug август августа авг серпень серпня серп сер жнівень жніўня augustus août aout aoû agosto ago
    sierpień sierpnia sie srpen srpna srp kolovoz kolovoza kol ağustos ağu augusti ágúst elokuu elokuuta
    augusztus rugpjūčio rugp rugpjūtis augusts augustā αύγουστος αυγούστου αυγ agustus agu אוגוסט أغسطس
    اغسطس
9: september sep sept сентябрь сентября сен сент вересень вересня вер верес верасень верасня септември
    септембар septembre septiembre setiembre setembro set settembre sett septembrie wrzesień września wrz
    září zář rujan rujna ruj eylül eyl syyskuu syyskuuta szeptember szept rugsėjo rugs rugsėjis septembris
    septembrī σεπτέμβριος σεπτεμβρίου σεπ σεπτ ספטמבר سبتمبر
10: october oct октябрь октября окт жовтень жовтня жовт жов кастрычнік кастрычніка октомври октобар oktober
    okt octobre octubre outubro out ottobre ott octombrie październik października paź říjen října říj
    listopada ekim eki október lokakuu lokakuuta spalio spal spalis oktobris oktobrī oktoober οκτώβριος
    οκτωβρίου οκτ אוקטובר أكتوبر اكتوبر
11: november nov ноябрь ноября ноя нояб листопад листопада лист лис лістапад лістапада ноември новембар
    novembre noviembre novembro noiembrie noi listopad studeni studenoga studenog kasım kas nóvember
    marraskuu marraskuuta lapkričio lapkr lapkritis novembris novembrī νοέμβριος νοεμβρίου νοε נובמבר نوفمبر
    nopember
12: december dec декабрь декабря дек грудень грудня груд гру снежань снежня декември децембар dezember dez
    décembre déc diciembre dic dezembro dicembre decembrie grudzień grudnia gru prosinec prosince pro
    prosinac prosinca aralık ara desember joulukuu joulukuuta gruodžio gruod gruodis decembris decembrī
    detsember dets δεκέμβριος δεκεμβρίου δεκ des דצמבר ديسمبر
"""


def _numbers(table: str) -> dict[str, int]:
    """Read the tables; a name that two months share (``listopada``) belongs to the first of them."""
    numbers: dict[str, int] = {}
    number = 0
    for word in table.split():
        if word[:-1].isdecimal():
            number = int(word[:-1])
        else:
            numbers.setdefault(_key(word), number)
    for months in by_language().values():
        for number, names in enumerate(months, start=1):
            for name in names:
                numbers.setdefault(_key(name), number)
    return numbers


def _key(name: str) -> str:
    """What is compared: case goes, with what Turkish and Greek capitals leave when they become small."""
    return normalize("NFC", name.casefold()).replace("i\u0307", "i").rstrip(".")


def _plain(name: str) -> str:
    """A name of :func:`_key` without accents, as capitals and hurried people write it: ΜΑΙΟΥ, fevrier."""
    if name.isascii() or name > _LAST_ACCENTED:
        return name
    return "".join(sign for sign in normalize("NFD", name) if not combining(sign)).replace("ı", "i")


_LAST_ACCENTED = "\u06ff"
"""In later scripts the marks are vowels."""

MONTHS: dict[str, int] = _numbers(_TABLE)
"""Month number by lower-case name."""
_PLAIN = {_plain(name): number for name, number in reversed(MONTHS.items())} | MONTHS

AMBIGUOUS = {
    "listopada": {"hr": 10, "pl": 11, "cs": 11},
    "listopad": {"hr": 10},
    "lis": {"hr": 10},
    "lip": {"hr": 6, "uk": 7, "pl": 7},
    "srp": {"hr": 7},
}
"""Names that mean different months; the language decides, else :data:`MONTHS`."""
_ADDED = "'’׳॰"
"""Signs of an abbreviation or a quotation that are no part of a name."""


def month(name: str, language: str | None = None) -> int | None:
    """Return the number of the month that ``name`` means, None for a word that is no month.

    ``language`` may be a tag with a country (``pl-pl``).
    """
    name = _key(name)
    if language and (meant := AMBIGUOUS.get(name, {}).get(language[:2])) is not None:
        return meant
    return MONTHS.get(name) or _inflected(name)


def _inflected(name: str) -> int | None:
    """The month of a name with a preposition or an ending of its own, or a sign behind it."""
    name = name.rstrip(_ADDED)
    bare = name.removesuffix("י").removesuffix("ren")
    return _PLAIN.get(_plain(name)) or MONTHS.get(name.removeprefix("ב")) or MONTHS.get(bare)
