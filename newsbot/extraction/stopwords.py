"""Lists the most frequent small words of languages in Latin, Cyrillic, Arabic and Devanagari letters."""

from __future__ import annotations

_TABLE = """
en: the of and to in that is was for on with as his her they have from this by had not are but were said
    which you has been will would
de: der die das und ist nicht ein eine den von mit für auf dem sich auch im als des wird nach wie bei sind
    hat aus noch über werden zu
nl: de het een van en dat niet in is zijn voor met op ook aan er maar om hij bij als naar heeft wordt uit
    door over nog werd deze
fr: le la les de des et est une un dans que qui pour pas sur au avec par plus sont ce il elle ont aux du été
    mais cette leur ses
es: el la los las de que en un una por con para del se es al como más pero su sus fue este ha lo también
    sobre entre desde muy
pt: o a os as de do da dos das que em um uma para com não por se no na mais foi ao como mas pelo pela são
    também seu sua até
it: il la lo i gli le di che è un una per non con del della dei sono nel alla dal si ha come anche più da al
    ma questo nella stato
ro: și în de la cu pe din că nu este un o care pentru sunt mai au fost ce să al ale dar după prin lui fi s-a
    către sau acest
ca: el la els les de que i en un una per amb del no es al com més però seva aquest també ha són va dels han
    fins perquè entre
pl: i w nie na się z że do jest o jak po za od to co tym przez ale dla są oraz który było także jego tak już
    tej może ma
cs: a v na se že je s z o do ve k i by za jak ale jsou byl pro při podle po které jako od tak který bude
    také už jeho však
sk: a v na sa že je s z o do vo k aj by za ako ale sú bol pre pri podľa po ktoré od tak ktorý bude tiež už
    jeho však som
hr: i u na je se da za su s od o koji će što kako bi ali nije iz ili to po do kao samo koja bio više još
    nakon prema te
sl: in v na je se da za so z od ki bo tudi kot ne pa po iz pri ali še bi ni do že med to ter bil kar ob smo
    bilo
tr: ve bir bu da de için ile olarak çok daha ne gibi kadar sonra olan en ise ya ancak göre ama var her şu
    oldu tarafından olduğu büyük
sv: och att det i en som är på för av med den till inte har de om ett från var men vid så kan också han sig
    efter ska hon
da: og at det i en som er på for af med den til ikke har de om et fra var men ved så kan også han sig efter
    skal hun blev meget mere
no: og at det i en som er på for av med den til ikke har de om et fra var men ved så kan også han seg etter
    skal hun ble mye mer
is: og að í er á sem til það við um með af en ekki var hann fyrir hefur því eru þá frá þetta hún hafa verið
    úr eftir þess upp
fi: ja on ei että oli se myös hän mutta kun ovat joka kuin jos sen mukaan ole vain nyt sekä vielä niin mitä
    olla jo tai suomen
hu: a az és hogy nem is egy ez van volt de meg csak azt már még mint el lehet szerint lesz ki ha amely után
    vagy kell akkor
lt: ir kad į yra tai su ne bet iš kaip apie jis nuo jau dar per buvo tik už bus po prie taip pat kurie šio
    ar bei metų dėl
lv: un ir ka no uz ar par to bet kas arī nav lai pēc tas kā pie jau vai viņš tika gan savu bija vēl gada
    līdz šo tiek
et: ja on ei et see oli ka mis kui oma aga ning selle seda siis mida ta pole nii olid üle välja veel kes
    ainult saab pärast
id: yang dan di dari untuk dengan pada ini itu tidak dalam akan ke juga oleh adalah ada sudah karena bisa
    saat kata atau telah tersebut lebih
ms: yang dan di dari untuk dengan pada ini itu tidak dalam akan ke juga oleh adalah ada telah kerana boleh
    berkata beliau atau katanya serta
vi: và của là có các cho được không trong một người những đã với này khi để đến từ về cũng ra vào tại năm
    theo trên đó nhiều
sq: dhe të në e i për me që një nga si nuk është së më ka do por janë kjo ky pas nëse kanë edhe ishte tij sa
    duke
tl: ang ng sa na mga at ay si ni hindi para ito niya siya kung may mula isang nito naman din pero lang dahil
    kanyang mas
af: die van en in is het dat nie vir met op om sy te was hulle wat aan as hy ook word sal by maar uit sê kan
    deur
sw: ya na wa kwa katika ni za la cha kuwa hiyo huo yake pia alisema bila huku watu hii kama baada hata
    lakini wake ambao
ru: и в не на что с он как по из за это от но для все так его был же до о у также после быть были она при
    более лет года которые
uk: і в не на що з він як по із за це від але для та у також після бути були вона при більше років року які
    його до про й є ще під
be: і ў не на што з ён як па за гэта ад але для таксама пасля быць былі яна пры больш гадоў года якія яго да
    пра ды ёсць яшчэ
bg: и в не на че с той като по от за това но да се са е също след тя при повече години които му до още който
    ще има си
sr: и у на је се да за су са од о који ће што како би али није из или то по до као само која био више још
    након према те
mk: и во на е се да за со од кој ќе што како би но не или тоа по до само која бил повеќе уште според сите
    ова биде има
kk: және бұл да де мен үшін бойынша деп бір болды туралы жылы қазақстан деді екі осы оның кейін жоқ болып ол
ar: في من على إلى أن التي الذي عن مع هذا هذه كان قال بعد ما لم لا ذلك بين كما أو قد كانت خلال وقال
fa: در از به که این را با است برای آن یک های خود تا بر شد می هم کرد نیز شده گفت اما بود ایران
ur: کے میں کی ہے اور سے کا کو نے پر یہ کہ ہیں بھی ان اس کر تھا نہیں گیا جو ایک لیے ہو تو
hi: के में की है और से का को ने पर यह कि हैं भी इस कर था नहीं गया जो एक लिए हो तो
mr: आणि आहे या ते की हे मध्ये नाही त्या होते होता असे केले तर यांनी साठी आहेत वर करण्यात
"""


def _profiles(table: str) -> dict[str, frozenset[str]]:
    """Return the words of each language in the table.

    A word that ends with a colon is a language code, and the words of this language follow it.
    """
    words: dict[str, set[str]] = {}
    language = ""
    for word in table.split():
        if word.endswith(":"):
            language = word[:-1]
            words[language] = set()
        else:
            words[language].add(word)
    return {code: frozenset(found) for code, found in words.items()}


PROFILES: dict[str, frozenset[str]] = _profiles(_TABLE)
"""Frequent words by ISO 639-1 code of the language."""
