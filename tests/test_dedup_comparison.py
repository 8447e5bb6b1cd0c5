"""What was replaced in similar articles: an update, another issue of a series, or news from one template."""

from __future__ import annotations

from itertools import permutations

import pytest

from newsbot.dedup.decision import Change, Text, compare
from newsbot.dedup.index import Near, text_key
from newsbot.dedup.story_merge import place
from newsbot.items import Article
from tests.builders import Desk, make_article
from tests.test_stories import take

Filling = tuple[str | int, ...]


def article(number: int, title: str, text: str, site: str = "a.test") -> Article:
    url = f"https://{site}/{number}"
    made = make_article(number, url=url, canonical_url=url, source=site, title=title, text=text)
    made.content_hash = text_key(text)
    return made


def change(*articles: Article) -> Change:
    one, other = map(Text, articles)
    found = compare(one, other)
    assert found == compare(other, one), "the order makes no difference"
    return found.change


TEMPLATES: dict[str, tuple[str, str, Filling, Filling]] = {
    "ru weather towns": (
        "Погода в {1} на выходные",
        (
            "В ближайшие выходные жителей {0} ждёт переменная облачность без существенных "
            "осадков, сообщает "
            "областной гидрометцентр. Днём воздух прогреется до {2} градусов, ночью столбик термометра "
            "опустится до 9. Ветер юго-западный, слабый, порывы не превысят 8 метров в "
            "секунду. Атмосферное "
            "давление останется в пределах нормы, метеозависимым людям беспокоиться не о чем. Дачникам "
            "синоптики советуют укрыть рассаду, поскольку на почве возможны заморозки."
        ),
        ("Калуги", "Калуге", 21),
        ("Обнинска", "Обнинске", 20),
    ),
    "ar weather towns": (
        "طقس {0} اليوم: أجواء حارة نهارا",
        (
            "تشهد مدينة {0} اليوم الثلاثاء أجواء حارة نهارا ومعتدلة ليلا، بحسب ما أفادت به "
            "مصلحة الأرصاد "
            "الجوية. وتبلغ درجة الحرارة العظمى {1} درجة مئوية، بينما تنخفض ليلا إلى 22 درجة. وتهب رياح "
            "شمالية غربية خفيفة إلى معتدلة السرعة، مع احتمال تكون الضباب في ساعات الصباح "
            "الباكر على الطرق "
            "السريعة. ونصحت المصلحة المواطنين بالإكثار من شرب المياه وعدم التعرض المباشر لأشعة الشمس."
        ),
        ("طنطا", 35),
        ("أسيوط", 38),
    ),
    "zh weather towns": (
        "{0}今日天气：多云转晴",
        (
            "{0}气象台今晨发布天气预报，预计今天白天多云转晴，偏北风二到三级，最高气温{1}摄氏度；夜间晴间多云，最低气温9摄氏度。气象部门提醒，早晚温差较大，市民出行请"
            "注意添加衣物，开车注意保持车距。未来三天，{0}以晴好天气为主，空气质量良好，适宜户外活动，但空气较为干燥，请多补充水分，注意防火。"
        ),
        ("石家庄", 18),
        ("保定", 20),
    ),
    "th weather provinces": (
        "พยากรณ์อากาศ {0} วันนี้",
        (
            "กรมอุตุนิยมวิทยาพยากรณ์อากาศจังหวัด{0} ในวันนี้ มีเมฆบางส่วน กับมีฝนฟ้าคะนองร้อยละ 30 "
            "ของพื้นที่ ส่วนมากในช่วงบ่ายถึงค่ำ อุณหภูมิต่ำสุด 24 องศาเซลเซียส อุณหภูมิสูงสุด {1} "
            "องศาเซลเซียส ลมตะวันตกเฉียงใต้ ความเร็ว 10 กิโลเมตรต่อชั่วโมง "
            "ขอให้ประชาชนดูแลสุขภาพเนื่องจากสภาพอากาศที่เปลี่ยนแปลง "
            "และเพิ่มความระมัดระวังในการสัญจรผ่านบริเวณที่มีฝนฟ้าคะนอง"
        ),
        ("ลำปาง", 34),
        ("ขอนแก่น", 35),
    ),
    "hi weather towns": (
        "{0} का मौसम: दिन भर धूप, शाम को बादल",
        (
            "{0} में मंगलवार को दिन भर तेज धूप रहेगी और शाम को हल्के बादल छा सकते हैं। मौसम "
            "विभाग के अनुसार "
            "अधिकतम तापमान {1} डिग्री और न्यूनतम तापमान 21 डिग्री सेल्सियस रहने का अनुमान "
            "है। हवा की गति "
            "धीमी रहेगी और बारिश की संभावना नहीं है। विभाग ने लोगों को सलाह दी है कि दोपहर "
            "में घर से बाहर "
            "निकलते समय सिर ढककर रखें और पर्याप्त पानी पिएं। किसानों को फसल की सिंचाई सुबह "
            "या शाम को करने को "
            "कहा गया है।"
        ),
        ("जयपुर", 36),
        ("कोटा", 37),
    ),
    "fr samedi/dimanche": (
        "Météo de {0} : des éclaircies dans l’ouest",
        (
            "Ce {0}, le temps sera partagé entre nuages et éclaircies sur la moitié ouest du "
            "pays, tandis "
            "que quelques averses se produiront près des frontières de l’est. Le vent de "
            "nord-ouest faiblira "
            "en cours de journée. Les températures minimales iront de 5 à 10 degrés, les "
            "maximales de {1} à "
            "20 degrés du nord au sud. En montagne, la neige tombera au-dessus de 1 800 "
            "mètres. La tendance "
            "pour les jours suivants : retour d’un temps plus sec et plus doux sur "
            "l’ensemble des régions."
        ),
        ("samedi", 13),
        ("dimanche", 14),
    ),
    "ru полуфинал финал": (
        "«Сокол» выиграл {0} Кубка области",
        (
            "Футболисты «Сокола» обыграли «Металлург» со счётом {1} и выиграли {0} Кубка "
            "области. Встреча "
            "прошла в субботу на стадионе «Труд» при полных трибунах. Судья дважды прибегал "
            "к видеоповтору. "
            "Главный тренер победителей Игорь Ветров после игры поблагодарил болельщиков за поддержку и "
            "сказал, что команда заслужила успех терпением и дисциплиной. Капитан "
            "«Металлурга» признал, что "
            "соперник был сильнее в решающие минуты."
        ),
        ("полуфинал", "2:1"),
        ("финал", "3:1"),
    ),
    "tr forecast dates in text only": (
        "Hava durumu",
        (
            "{0} günü yurdun kuzey kesimlerinde sağanak yağış bekleniyor, diğer yerlerde hava parçalı "
            "bulutlu geçecek. Meteoroloji yetkilileri rüzgârın batı yönlerden hafif, ara "
            "sıra orta kuvvette "
            "eseceğini bildirdi. Hava sıcaklığının mevsim normalleri dolayında olacağı, en "
            "yüksek {1} derece "
            "ölçüleceği tahmin ediliyor. Denizlerde dalga boyu bir metreyi aşmayacak. "
            "Vatandaşların yağış "
            "sırasında oluşabilecek ulaşım aksamalarına karşı dikkatli olmaları istendi."
        ),
        ("11 Mayıs", 23),
        ("12 Mayıs", 22),
    ),
    "en obituaries": (
        "{0}, of {1}, dies",
        (
            "{0}, of {1}, died peacefully at home on Tuesday surrounded by family. A funeral "
            "Mass will be "
            "said at St Mary’s church on Saturday at 11 a.m., followed by burial in the "
            "parish cemetery. The "
            "family will receive friends at the Doyle funeral home on Friday from 4 to 7 "
            "p.m. In lieu of "
            "flowers, donations may be made to the county hospice, whose nurses the family "
            "thanks for their "
            "care and kindness during the last months. Messages of condolence can be left in "
            "the online book."
        ),
        ("Margaret Flynn", "Ballinrobe"),
        ("Thomas Keane", "Cong"),
    ),
    "de Traueranzeige": (
        "Der Verein trauert um ein Mitglied",
        (
            "Der Turnverein trauert um {0}, der nach langer schwerer Krankheit im Kreise seiner Familie "
            "verstorben ist. {0} gehörte dem Verein seit seiner Jugend an und hat ihn über "
            "Jahrzehnte als "
            "Übungsleiter und Kassenprüfer geprägt. Mit seiner ruhigen Art und seinem "
            "trockenen Humor war er "
            "bei Jung und Alt beliebt. Wir verlieren einen Freund und werden ihm ein ehrendes Andenken "
            "bewahren. Unser Mitgefühl gilt seiner Frau, seinen Kindern und allen Angehörigen. Die "
            "Trauerfeier findet im engsten Kreis statt."
        ),
        ("Karl Wittmann",),
        ("Georg Ostheimer",),
    ),
    "vi weather": (
        "Thời tiết {0} hôm nay: ngày nắng, chiều tối có mưa",
        (
            "Theo dự báo của Trung tâm Dự báo khí tượng thủy văn quốc gia, hôm nay {0} ngày "
            "nắng, chiều tối "
            "và đêm có mưa rào và dông vài nơi, gió nhẹ. Trong cơn dông có khả năng xảy ra "
            "lốc, sét, mưa đá "
            "và gió giật mạnh. Nhiệt độ thấp nhất "
            "từ 24 đến 26 độ, cao nhất từ 33 đến "
            "35 độ. Độ ẩm trung "
            "bình ở mức cao. Người dân nên hạn chế ra ngoài vào buổi trưa và mang theo áo "
            "mưa khi đi làm về."
        ),
        ("Đà Nẵng",),
        ("Hải Phòng",),
    ),
    "hi officials, name in the text": (
        "{0} में नए आयुक्त ने संभाला कार्यभार",
        (
            "{0} नगर निगम के नए आयुक्त {1} ने सोमवार को अपना कार्यभार संभाल लिया। कार्यभार संभालने के"
            " बाद उन्होंने अधिकारियों की बैठक ली और कहा कि शहर की साफ सफाई और पेयजल व्यवस्था उनकी "
            "पहली प्राथमिकता होगी। उन्होंने कर्मचारियों से समय पर कार्यालय आने और नागरिकों की "
            "शिकायतों का तुरंत निपटारा करने को कहा। बैठक में सभी विभागों के प्रमुख मौजूद रहे।"
        ),
        ("ग्वालियर", "अरविंद मिश्रा"),
        ("उज्जैन", "सुनीता चौहान"),
    ),
    "th governors": (
        "ผู้ว่าฯ {0} เปิดงานประจำปี",
        (
            "นาย{1} ผู้ว่าราชการจังหวัด{0} เป็นประธานเปิดงานประจำปีและงานกาชาด ณ "
            "สนามหน้าศาลากลางจังหวัด โดยมีหัวหน้าส่วนราชการและประชาชนเข้าร่วมเป็นจำนวนมาก "
            "ภายในงานมีการออกร้านจำหน่ายสินค้าชุมชน การแสดงศิลปวัฒนธรรมพื้นบ้าน "
            "และการประกวดผลผลิตทางการเกษตร "
            "รายได้ส่วนหนึ่งมอบให้เหล่ากาชาดเพื่อช่วยเหลือผู้ยากไร้และผู้ประสบภัยในพื้นที่"
        ),
        ("แพร่", "สมชัย ทองดี"),
        ("ตราด", "พีระ เอี่ยมสุนทร"),
    ),
    "pt semi-final and final": (
        "Vitória de Santa Clara {0} da Taça Regional",
        (
            "O Santa Clara venceu o Lusitânia por {1} {0} da Taça Regional, disputada no domingo em "
            "Angra. O jogo foi equilibrado até ao intervalo, mas a equipa visitante soube aproveitar "
            "os erros da defesa contrária. No final, o treinador elogiou a entrega dos jogadores e "
            "dedicou o triunfo aos adeptos que viajaram de barco para apoiar a equipa durante toda a "
            "tarde."
        ),
        ("na meia-final", "2-1"),
        ("na final", "2-0"),
    ),
    "en women's club": (
        "{0} climb to third after home win",
        (
            "{0} moved up to third place in the county league with a home win on Saturday. {1} took "
            "the lead on the last leg and held on in heavy rain, while the marshals struggled to keep"
            " the course open. The club secretary thanked the volunteers who served tea at the "
            "pavilion. The next fixture is away in a fortnight, and new members are always welcome at"
            " training on Wednesdays."
        ),
        ("Leyburn Harriers", "Tom Askew"),
        ("Leyburn Women's Harriers", "Jane Prior"),
    ),
    "it women's tournament": (
        "Bocce, {0}la Fossanese vince il torneo",
        (
            "La Fossanese {0}ha vinto domenica il torneo provinciale di bocce battendo in finale la "
            "Saluzzese per {1}. Le gare si sono svolte sui campi della società ospitante davanti a un"
            " buon numero di appassionati. Il presidente ha ringraziato gli sponsor e i volontari che"
            " hanno preparato i campi dopo il temporale della notte. Il prossimo appuntamento sarà il"
            " mese prossimo con il trofeo della montagna."
        ),
        ("", "13-9"),
        ("femminile ", "13-7"),
    ),
    "ka coaches": (
        "{0} ახალ მწვრთნელს წარადგენს",
        (
            "კალათბურთის კლუბმა {0} გუშინ ახალი მწვრთნელი წარადგინა. მომდევნო წელს გუნდს {1} "
            "ჩაუდგება სათავეში. კლუბის ხელმძღვანელობამ აღნიშნა, რომ მას დიდი გამოცდილება აქვს და "
            "ახალგაზრდა მოთამაშეებთან კარგად მუშაობს. თავად მწვრთნელმა გულშემატკივარს მადლობა "
            "გადაუხადა და დაპირდა, რომ გუნდი ყოველ თამაშში გამარჯვებისთვის იბრძოლებს."
        ),
        ("მგზავრები", "ზურაბ ლომიძე"),
        ("ბათუმი", "ნიკოლოზ ცინცაძე"),
    ),
    "id kurs same headline": (
        "Harga emas hari ini",
        (
            "Harga emas batangan bersertifikat di Logam Mulia hari ini dibanderol Rp {0} per "
            "gram. Harga "
            "pembelian kembali berada di level Rp {1} per gram. Harga ini {2} Rp {3} "
            "dibanding perdagangan "
            "sebelumnya. Sesuai aturan, setiap pembelian emas batangan dikenakan pajak "
            "penghasilan, dengan "
            "bukti potong yang diberikan kepada pembeli. Emas batangan tersedia dalam "
            "berbagai ukuran dan "
            "dapat dipesan melalui butik maupun toko daring resmi."
        ),
        ("1.043.000", "939.000", "naik", "4.000"),
        ("1.051.000", "946.000", "naik", "8.000"),
    ),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_another_subject_date_or_most_figures_in_a_template_are_different_news(name: str) -> None:
    title, text, *fillings = TEMPLATES[name]
    one, other = (article(n, title.format(*some), text.format(*some)) for n, some in enumerate(fillings))
    assert change(one, other) is Change.FILLING


SISTERS: dict[str, tuple[str, str, Filling, Filling]] = {
    "sr water": (
        "{0}: Radovi na vodovodu, bez vode više ulica",
        (
            "Zbog radova na vodovodnoj mreži bez vode će u četvrtak od 8 do 14 časova ostati "
            "potrošači u više ulica na području opštine {0}, saopštilo je javno preduzeće. Radovi će "
            "se izvoditi i u ulici {1}, gde se menja dotrajala cev. Građanima se savetuje da na vreme"
            " obezbede dovoljne količine vode za piće. Cisterna sa pijaćom vodom biće postavljena "
            "ispred zgrade opštine, a radovi mogu biti završeni i ranije ako dozvole vremenske "
            "prilike."
        ),
        ("Sombor", "Venac Stepe Stepanovića"),
        ("Kikinda", "Svetosavskoj"),
    ),
    "en homes": (
        "Most expensive homes sold in {0} last month",
        (
            "House hunters in {0} are still willing to pay a premium, according to figures from the "
            "Land Registry. The most expensive property sold last month was a detached house in {1}, "
            "which changed hands for well above the asking price. Terraced homes remain the most "
            "popular choice for first-time buyers. Estate agents say demand is strong, but warn that "
            "rising mortgage costs may slow the market before the end of the year."
        ),
        ("Wigan", "Standish"),
        ("Bolton", "Heaton"),
    ),
}


@pytest.mark.parametrize("name", SISTERS)
def test_sister_sites_that_replace_the_town_report_different_news(name: str) -> None:
    title, text, first, second = SISTERS[name]
    one = article(1, title.format(*first), text.format(*first))
    assert change(one, article(2, title.format(*second), text.format(*second), "b.test")) is Change.FILLING


UPDATES: dict[str, tuple[str, str, str, Filling, Filling]] = {
    "a toll on one site": (
        "a.test",
        "Bus crash kills {0} near Arusha",
        (
            "A bus carrying wedding guests plunged into a ravine near Arusha on Sunday, killing "
            "{0} people and injuring {1}, police said. The driver lost control on a bend in heavy "
            "rain, according to regional commander Joseph Mollel. Villagers used ropes to pull "
            "survivors from the wreck before ambulances arrived. The injured were taken to Mount "
            "Meru hospital."
        ),
        (4, 12),
        (9, 21),
    ),
    "three numbers, names stay": (
        "a.test",
        "Muğla’da orman yangını: {2} kişi hastanede",
        (
            "Muğla’nın Ula ilçesinde çıkan orman yangınına {0} uçak ve {1} helikopterle müdahale "
            "ediliyor. Yangında {2} kişi dumandan etkilenerek hastaneye kaldırıldı. Orman Bölge "
            "Müdürü Selim Aydın, rüzgârın söndürme çalışmalarını güçleştirdiğini söyledi. Tedbir "
            "amacıyla Turgut ve Çiçekli mahalleleri boşaltıldı."
        ),
        (8, 12, 3),
        (14, 23, 11),
    ),
    "without capitals": (
        "a.test",
        "云南山体滑坡已致{0}人遇难",
        (
            "记者从县应急管理局获悉，云南省昭通市镇雄县凉水村发生的山体滑坡已造成{0}人遇难，另有{1}人失联。救援人员连夜在现场搜"
            "救，气温降到零下，道路结冰，大型机械难以进入。当地已紧急转移安置群众二百余户，并调集帐篷、棉被等物资。"
        ),
        (5, 31),
        (20, 24),
    ),
    "times and units of another site": (
        "b.test",
        "Quake shakes Chile coast",
        (
            "A strong earthquake shook the northern coast of Chile late on Thursday, sending "
            "residents into the streets. The quake struck at {0} at a depth of {1}, off the port "
            "of Iquique, the seismological centre said. Waves of up to {2} were recorded. Power "
            'was cut to parts of the city, and landslides blocked two roads. "The house moved '
            'like a boat," said Rosa Fuentes, a teacher at the Salesian school. The warning was '
            "lifted at {3} after the sea level had returned to normal."
        ),
        ("2114 GMT", "30km", "1.20m", "2330 GMT"),
        ("5.14pm", "19 miles", "4 feet", "7.30pm"),
    ),
    "ro copy of another site, a name spelled otherwise": (
        "b.test",
        "Explozie la {0}: cinci răniţi",
        (
            "Cinci persoane au fost rănite joi într-o explozie produsă la {0}, în estul Ucrainei, a "
            "anunţat guvernatorul regional Oleg Sînegubov, citat de Reuters. Explozia a avut loc la "
            "ora {1} într-un depozit de pe strada Poltavski Şliah. Pompierii au stins incendiul după "
            "două ore. „Geamurile s-au spart pe 300 de metri”, a spus Sînegubov. Poliţia a deschis o "
            "anchetă, iar spitalul numărul 4 a cerut donatori de sânge."
        ),
        ("Harkov", "18.40 GMT"),
        ("Kharkiv", "20.40, ora României"),
    ),
    "a corrected name": (
        "a.test",
        "Choir wins national prize for the third time",
        (
            "The cathedral choir of Welby has won the national prize for sacred music for the "
            "third time, the jury announced on Sunday evening. Forty singers aged nine to seventy "
            "took part. Conductor Sally Whitmore said she had expected nothing and packed no "
            "dress for the ceremony. The prize is worth ten thousand pounds, which the choir will "
            "spend on a tour of {0} next summer."
        ),
        ("Estonia",),
        ("Latvia",),
    ),
}


@pytest.mark.parametrize("name", UPDATES)
def test_replaced_numbers_and_edits_are_updates_of_the_same_news(name: str) -> None:
    site, title, text, first, second = UPDATES[name]
    old = article(1, title.format(*first), text.format(*first))
    assert change(old, article(2, title.format(*second), text.format(*second), site)) < Change.ISSUE


EDITS: dict[str, tuple[str, str, str, str]] = {
    "en first name": (
        "Librarian {0} Pettifer retires after 41 years",
        (
            "{0} Pettifer has stamped her last book. After 41 years at the Carnegie library in "
            'Ormskirk she handed the keys to her successor, Dev Patel, on Friday. "I came for a '
            'summer job in 1984," she said, "and nobody told me to leave." Some 300 readers signed a '
            "card, and the mayor, Cllr Ruth Enright, gave her a first edition of Middlemarch. She "
            "plans to walk the coast from Southport to Silloth with her sister."
        ),
        "Joan",
        "Jean",
    ),
    "de word": (
        "Bürgermeister kündigt {0} der Brücke an",
        (
            "Der Bürgermeister von Laufen, Hans Feil, hat am Montag im Stadtrat den {0} der "
            "Salzachbrücke angekündigt. Das Bauwerk von 1903 trage nur noch Fahrzeuge bis 16 Tonnen, "
            "sagte Feil. Die Kosten von 12,4 Millionen Euro teilen sich Bayern, Salzburg und der "
            "Bund. Gegen den Plan stimmte allein die Fraktion der Freien Wähler; ihr Sprecher Georg "
            "Öttl nannte die Kosten abenteuerlich. Die Bauarbeiten sollen 2027 beginnen und zwei "
            "Jahre dauern."
        ),
        "Neubau",
        "Ersatzbau",
    ),
    "pl word": (
        "Mieszkańcy Pszczyny protestują przeciw {0}",
        (
            "Około 200 mieszkańców Pszczyny protestowało w sobotę przeciw {0} lip przy ulicy "
            "Katowickiej. Zarząd Dróg Wojewódzkich chce usunąć 63 drzewa, żeby poszerzyć jezdnię. „Te"
            " lipy sadził mój dziadek w 1928 roku” – mówiła Maria Kuś z osiedla Piastów. Burmistrz "
            "Dariusz Skrobol zapowiedział rozmowy z Katowicami i poprosił o nową ekspertyzę "
            "dendrologa. Decyzja ma zapaść do końca września. Podpisy pod petycją zbierano także w "
            "Goczałkowicach."
        ),
        "wycince",
        "wyrębowi",
    ),
    "ja word, no capitals": (
        "県道のトンネルで{0}、通行止め続く",
        (
            "十二日午前五時ごろ、県道四十七号の大沢トンネルで天井の一部が{0}しているのを通りかかった新聞配達員"
            "の女性が見つけた。県土木事務所によると、{0}したのは入り口から約八十メートルの地点で、けが人はいな"
            "い。トンネルは昭和三十九年の完成で、昨年九月の点検では異常がなかったという。事務所の西山浩所長は「原"
            "因を調べ、早期の復旧を目指す」と話した。迂回路は国道経由で約四十分余計にかかる。"
        ),
        "崩落",
        "落下",
    ),
    "ko template with one place": (
        "{0} 경찰서장 취임",
        (
            "{0} 신임 서장이 3일 취임식을 열고 업무를 시작했다. {0} "
            "서장은 취임사에서 주민이 안심할 수 있는 안전한 지역을 만드는 데 "
            "모든 힘을 쏟겠다고 밝혔다. 또 현장에서 "
            "일하는 직원들의 목소리에 귀를 기울이고 소통하는 조직 문화를 "
            "만들겠다고 강조했다. 취임식에 앞서 서장은 충혼탑을 찾아 참배했다. "
            "신임 서장은 경찰대학을 졸업하고 본청과 "
            "지방청에서 여러 보직을 거쳤으며, 가족으로 아내와 두 자녀가 있다."
        ),
        "김도현",
        "박상철",
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_article_with_one_other_word_in_headline_and_text_has_a_link(name: str) -> None:
    title, text, old, new = EDITS[name]
    one, other = (article(n, title.format(word), text.format(word)) for n, word in enumerate((old, new)))
    assert change(one, other) is not Change.FILLING
    decision = place(other, [Near(one.url, one.source, 0.9)], {one.url: one})
    assert one.url in decision.peers + decision.derived_from


KEPT = [
    "The Harbour Inn serves mussels in cider and has a table by the fire for those who book.",
    "Bella Vista makes its own pasta and lets you watch through a small window.",
    "The Copper Kettle does breakfast until three and does it better than anyone.",
    "The Old Forge is loud, smoky and worth every minute of the wait.",
]
LISTS = [
    article(
        year,
        f"Our favourite restaurants of {year}",
        f"Our readers vote for the places where they like to eat. These are the winners of {year}.\n"
        + "\n".join([*KEPT, changed]),
    )
    for year, changed in (
        (2023, "The Mill closed its kitchen garden but kept its trout in the stream."),
        (2024, "Tandoor House moved into the old bank and keeps its wine in the safe."),
    )
]


def test_two_issues_of_a_yearly_list_are_separate_stories_with_a_link() -> None:
    assert change(*LISTS) is Change.ISSUE
    first, second = LISTS
    decision = place(second, [Near(first.url, first.source, 0.7)], {first.url: first})
    assert (decision.relation, decision.peers) == ("derived", ())
    assert decision.derived_from == (first.url,)


LOCAL = (
    "Over {} the day begins with mist and low cloud, which will break up towards "
    "noon. Afternoon temperatures"
    " reach {} degrees inland and stay lower on the coast. The wind is light and "
    "comes from the west. In the"
    " night it cools down to {} degrees, and a few showers drift in from the sea."
)
THANKS = (
    "The parish council thanks all who helped at the spring fair last weekend. "
    "Stalls, raffle and the tug of"
    " war brought in more than ever before, and the money goes to the new playground "
    "behind the mill. Special"
    " thanks go to {}, who ran the tea tent from morning to dusk without a break and washed every cup."
)
SERIES = {
    "another town": [
        LOCAL.format("Barnley", 17, 8),
        LOCAL.format("Barnley", 19, 9),
        LOCAL.format("Duxton", 16, 7),
    ],
    "three names": [THANKS.format(name) for name in ("Ada Birch", "Hugh Lorne", "Meg Stout")],
}


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("name", SERIES)
def test_a_third_text_of_a_template_parts_two_joined_texts(
    desk: Desk, name: str, order: tuple[int, ...]
) -> None:
    for number in order:
        take(desk, article(number, "From the district", SERIES[name][number]))
    kept = list(desk.context.storage.articles.iter())
    assert len({one.story for one in kept}) == 3
    assert {one.duplicate_of for one in kept} == {None}


def test_two_texts_with_one_template_are_joined_while_nothing_shows_the_template(desk: Desk) -> None:
    for number in (0, 1):
        take(desk, article(number, "From the district", SERIES["another town"][number]))
    assert len({one.story for one in desk.context.storage.articles.iter()}) == 1


FOOT = (
    "Хотите первыми узнавать новости региона, подписывайтесь на наш канал в "
    "мессенджере, присылайте фото и видео"
    " очевидцев редакции, сообщайте о происшествиях по телефону горячей линии "
    "круглосуточно, мы отвечаем всем."
)


def test_a_line_of_standard_wording_does_not_join_short_articles(desk: Desk) -> None:
    for number, (title, line) in enumerate(
        {
            "Завод наймёт двести человек": "Машиностроительный завод объявил набор: нужны токари, сварщики и"
            " наладчики станков.",
            "Библиотека открылась после ремонта": "Центральная библиотека снова принимает"
            " читателей: обновлены залы, появился лифт.",
        }.items()
    ):
        take(desk, article(number, title, f"{line}\n{FOOT}"))
    assert len({one.story for one in desk.context.storage.articles.iter()}) == 2
    assert not any(one.derived_from for one in desk.context.storage.articles.iter())


def test_a_sentence_of_standard_wording_in_the_same_line_does_not_join_short_articles() -> None:
    letter = (
        "Iratkozzon fel ingyenes hírlevelünkre, hogy elsőként értesüljön a megye legfontosabb híreiről,"
        " programjairól és eseményeiről, és kövesse oldalunkat a közösségi médiában is, ahol naponta"
        " frissülő tartalommal várjuk olvasóinkat."
    )
    one = article(1, "Lezárták a hidat", f"Kedden lezárták a Körös hídját, mert a víz emelkedett. {letter}")
    other = article(2, "Új orvos Gyulán", f"Hétfőtől új háziorvos rendel a gyulai rendelőben. {letter}")
    decision = place(other, [Near(one.url, one.source, 0.6)], {one.url: one})
    assert (decision.peers, decision.derived_from) == ((), ())
