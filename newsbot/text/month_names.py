"""Names of the months in the languages that :mod:`newsbot.text.months` does not spell out.

From Unicode's CLDR (wide and abbreviated, in dates and alone), with a few spellings that news pages also
use. A line for each language: twelve months, forms of one month parted by a slash, ``-`` where none is new,
``_`` for a blank within a name.
"""

from __future__ import annotations

_TABLE = """
be: сту - сак кра - чэр ліп жні - кас ліс сне
sr: јануар/јан феб - - - - - - сеп - нов дец
mk: јануари - - - - јуни јули - - - ное -
hr: - - - - - - - - - - stu -
bs: - - - - - - - - septembar oktobar novembar decembar
sl: - - marec - - junij julij avgust/avg - - - -
cs: - - - - - - - - - - listopadu -
sk: januára februára - apríla mája júna júla augusta septembra októbra novembra decembra
pl: - lut - - - - - - - - lis -
hu: - febr - - - - - - - - - -
et: jaan veebr - - - - - - - - - -
lv: - - - - - jūn jūl - - - - -
is: - - - - - - - ágú - - nóv -
az: yanvar/yan fevral - aprel - iyun/iyn iyul/iyl avqust/avq sentyabr/sen oktyabr noyabr/noy dekabr/dek
uz: - - - - - - - - sentabr oktabr - -
tg: январ феврал - апрел - - - - сентябр октябр ноябр декабр
kk: қаңтар/қаң ақпан/ақп наурыз/нау сәуір/сәу мамыр/мам маусым/мау шілде/шіл тамыз/там қыркүйек/қыр
    қазан/қаз қараша/қар желтоқсан/жел
hy: հունվարի/հունվար/հնվ փետրվարի/փետրվար/փտվ մարտի/մարտ/մրտ ապրիլի/ապրիլ/ապր մայիսի/մայիս/մյս
    հունիսի/հունիս/հնս հուլիսի/հուլիս/հլս օգոստոսի/օգոստոս/օգս սեպտեմբերի/սեպտեմբեր/սեպ
    հոկտեմբերի/հոկտեմբեր/հոկ նոյեմբերի/նոյեմբեր/նոյ դեկտեմբերի/դեկտեմբեր/դեկ
ka: იანვარი/იან თებერვალი/თებ მარტი/მარ აპრილი/აპრ მაისი/მაი ივნისი/ივნ ივლისი/ივლ აგვისტო/აგვ
    სექტემბერი/სექ ოქტომბერი/ოქტ ნოემბერი/ნოე დეკემბერი/დეკ
he: ינו פבר - אפר - - - אוג ספט אוק נוב דצמ
ar: كانون_الثاني شباط آذار/اذار نيسان أيار/ايار حزيران تموز/يوليوز آب/غشت أيلول/ايلول/شتنبر
    تشرين_الأول/تشرين_الاول تشرين_الثاني/نونبر كانون_الأول/كانون_الاول/دجنبر
ar-dz: جانفي فيفري - أفريل ماي جوان جويلية أوت سبتمبر أكتوبر نوفمبر ديسمبر
fa: ژانویهٔ/ژانویه فوریهٔ/فوریه - آوریل مهٔ/مه/می ژوئن ژوئیهٔ/ژوئیه/جولای اوت/آگوست سپتامبر اکتبر نوامبر
    دسامبر
ur: جنوری فروری مارچ اپریل مئی جون جولائی اگست ستمبر اکتوبر نومبر دسمبر
hi: जनवरी/जन फ़रवरी/फ़र/फरवरी मार्च अप्रैल मई जून जुलाई/जुल अगस्त/अग सितंबर/सित/सितम्बर अक्टूबर/अक्टू
    नवंबर/नव/नवम्बर दिसंबर/दिस/दिसम्बर
mr: जानेवारी/जाने फेब्रुवारी/फेब्रु - एप्रिल/एप्रि मे - जुलै ऑगस्ट/ऑग सप्टेंबर/सप्टें ऑक्टोबर/ऑक्टो
    नोव्हेंबर/नोव्हें डिसेंबर/डिसें
bn: জানুয়ারী/জানু/জানুয়ারি ফেব্রুয়ারী/ফেব/ফেব্রুয়ারি মার্চ এপ্রিল/এপ্রি মে জুন জুলাই/জুল
    আগস্ট/আগ/আগষ্ট সেপ্টেম্বর/সেপ অক্টোবর/অক্টো নভেম্বর/নভে ডিসেম্বর/ডিসে
pa: ਜਨਵਰੀ/ਜਨ ਫ਼ਰਵਰੀ/ਫ਼ਰ ਮਾਰਚ ਅਪ੍ਰੈਲ/ਅਪ੍ਰੈ ਮਈ ਜੂਨ ਜੁਲਾਈ/ਜੁਲਾ ਅਗਸਤ/ਅਗ ਸਤੰਬਰ/ਸਤੰ ਅਕਤੂਬਰ/ਅਕਤੂ ਨਵੰਬਰ/ਨਵੰ
    ਦਸੰਬਰ/ਦਸੰ
gu: જાન્યુઆરી/જાન્યુ ફેબ્રુઆરી/ફેબ્રુ માર્ચ એપ્રિલ મે જૂન જુલાઈ ઑગસ્ટ સપ્ટેમ્બર/સપ્ટે ઑક્ટોબર/ઑક્ટો
    નવેમ્બર/નવે ડિસેમ્બર/ડિસે
ta: ஜனவரி/ஜன பிப்ரவரி/பிப் மார்ச்/மார் ஏப்ரல்/ஏப் மே ஜூன் ஜூலை ஆகஸ்ட்/ஆக செப்டம்பர்/செப் அக்டோபர்/அக்
    நவம்பர்/நவ டிசம்பர்/டிச
te: జనవరి/జన ఫిబ్రవరి/ఫిబ్ర మార్చి ఏప్రిల్/ఏప్రి మే జూన్ జులై ఆగస్టు/ఆగ సెప్టెంబర్/సెప్టెం అక్టోబర్/అక్టో
    నవంబర్/నవం డిసెంబర్/డిసెం
kn: ಜನವರಿ/ಜನ ಫೆಬ್ರವರಿ/ಫೆಬ್ರ ಮಾರ್ಚ್ ಏಪ್ರಿಲ್/ಏಪ್ರಿ ಮೇ ಜೂನ್ ಜುಲೈ ಆಗಸ್ಟ್/ಆಗ ಸೆಪ್ಟೆಂಬರ್/ಸೆಪ್ಟೆಂ ಅಕ್ಟೋಬರ್/ಅಕ್ಟೋ
    ನವೆಂಬರ್/ನವೆಂ ಡಿಸೆಂಬರ್/ಡಿಸೆಂ
ml: ജനുവരി/ജനു ഫെബ്രുവരി/ഫെബ്രു മാർച്ച്/മാർ ഏപ്രിൽ/ഏപ്രി മേയ് ജൂൺ ജൂലൈ ഓഗസ്റ്റ്/ഓഗ സെപ്റ്റംബർ/സെപ്റ്റം
    ഒക്ടോബർ/ഒക്ടോ നവംബർ/നവം ഡിസംബർ/ഡിസം
si: ජනවාරි/ජන පෙබරවාරි/පෙබ මාර්තු/මාර් අප්රේල් මැයි ජූනි ජූලි අගෝස්තු/අගෝ සැප්තැම්බර්/සැප් ඔක්තෝබර්/ඔක්
    නොවැම්බර්/නොවැ දෙසැම්බර්/දෙසැ
th: มกราคม/ม.ค กุมภาพันธ์/ก.พ มีนาคม/มี.ค เมษายน/เม.ย พฤษภาคม/พ.ค มิถุนายน/มิ.ย กรกฎาคม/ก.ค สิงหาคม/ส.ค
    กันยายน/ก.ย ตุลาคม/ต.ค พฤศจิกายน/พ.ย ธันวาคม/ธ.ค
lo: ມັງກອນ/ມ.ກ ກຸມພາ/ກ.ພ ມີນາ/ມ.ນ ເມສາ/ມ.ສ ພຶດສະພາ/ພ.ພ ມິຖຸນາ/ມິ.ຖ ກໍລະກົດ/ກ.ລ ສິງຫາ/ສ.ຫ ກັນຍາ/ກ.ຍ
    ຕຸລາ/ຕ.ລ ພະຈິກ/ພ.ຈ ທັນວາ/ທ.ວ
my: ဇန်နဝါရီ/ဇန် ဖေဖော်ဝါရီ/ဖေ မတ် ဧပြီ/ဧ မေ ဇွန် ဇူလိုင်/ဇူ ဩဂုတ်/ဩ စက်တင်ဘာ/စက် အောက်တိုဘာ/အောက်
    နိုဝင်ဘာ/နို ဒီဇင်ဘာ/ဒီ
km: មករា កុម្ភៈ មីនា មេសា ឧសភា មិថុនា កក្កដា សីហា កញ្ញា តុលា វិច្ឆិកា ធ្នូ
ms: - - mac - - - julai ogos/ogo - - - disember/dis
fil: - pebrero/peb marso - - hunyo/hun hulyo/hul - setyembre oktubre nobyembre/nob disyembre
sq: janar shkurt/shk - prill/pri - qershor/qer korrik/korr gusht/gush shtator/sht tetor/tet nëntor/nën
    dhjetor/dhj
ca: gener febrer març - maig juny juliol agost setembre - - desembre
gl: xaneiro/xan febreiro - - - xuño xullo/xul - - - - decembro
am: ጃንዋሪ/ጃን ፌብሩዋሪ/ፌብ ማርች ኤፕሪል/ኤፕሪ ሜይ ጁን ጁላይ ኦገስት/ኦገስ ሴፕቴምበር/ሴፕቴ ኦክቶበር/ኦክቶ ኖቬምበር/ኖቬም ዲሴምበር/ዲሴም
eu: urtarrila otsaila martxoa apirila maiatza ekaina uztaila abuztua iraila urria azaroa abendua
ga: eanáir feabhra márta aibreán bealtaine meitheamh iúil lúnasa - - samhain nollaig
cy: ionawr chwefror mawrth ebrill - mehefin gorffennaf awst medi hydref tachwedd rhagfyr
sw: - - machi aprili - - - agosti septemba oktoba novemba desemba
af: januarie - - - - junie julie - - - - -
mt: jannar frar marzu - mejju ġunju lulju awwissu settembru ottubru novembru diċembru
so: janaayo/jannaayo febraayo maarso abriil maayo juun luulyo ogosto sebtembar/sebteembar oktoobar
    noofeembar diseembar
lb: - - mäerz abrëll mee - - - - - - -
"""


def by_language() -> dict[str, list[tuple[str, ...]]]:
    """Return for each language code the forms of the twelve months, in order."""
    found: dict[str, list[tuple[str, ...]]] = {}
    language = ""
    for word in _TABLE.split():
        if word.endswith(":"):
            language = word[:-1]
            found[language] = []
        else:
            found[language].append(() if word == "-" else tuple(word.replace("_", " ").split("/")))
    return found
