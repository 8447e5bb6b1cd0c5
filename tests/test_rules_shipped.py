"""The shipped rules classify real URLs correctly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from newsbot.apps.authoring.command import find_hints
from newsbot.items import Kind
from newsbot.pages.rules import Match, Rule, RuleSet, classify, load_rules
from newsbot.pages.rules.load import read_folder
from newsbot.urls import canonicalize

FOLDER = Path(__file__).resolve().parent.parent / "rules"
RUSSIAN = 14


def words(text: str) -> list[str]:
    return text.split()


ARTICLES = words("""
https://lenta.ru/news/2021/06/04/pitki/
https://lenta.ru/articles/2020/06/20/babariko/
https://ria.ru/20231216/ssha-1916209978.html
https://ria.ru/20200331/1569385390.html
https://tass.ru/moskva/8836033
https://tass.ru/mezhdunarodnaya-panorama/8836033
https://www.interfax.ru/russia/1106228
https://www.kommersant.ru/doc/4310901?from=main
https://www.rbc.ru/politics/06/05/2022/62754ea59a79479927ecb5a4
https://www.rbc.ru/rbcfreenews/5fa7f3579a79475e3e6041e3?from=from_main_4
https://www.vedomosti.ru/politics/news/2022/11/25/952123-peskov-prokommentiroval-zayavlenie-zelenskogo
https://www.vedomosti.ru/politics/articles/2022/11/29/952612-kudrin-pokidaet-post-glavi-schetnoi-palati
https://www.gazeta.ru/politics/news/2022/08/27/18424118.shtml
https://www.gazeta.ru/politics/2017/01/19_a_10481981.shtml
https://www.gazeta.ru/politics/news/2020/09/03/n_14888462.shtml
https://www.gazeta.ru/politics/2022/01/29/14476321.shtml
https://iz.ru/1742445/2024-08-14/apple-utratila-liderstvo-na-rossiiskom-rynke-planshetov
https://iz.ru/1633388/alena-svetunkova/vyiti-na-sled-kak-poznakomit-rebenka-s-osnovami-tcifrovoi-gramotnosti
https://rg.ru/2024/02/29/putin-predlozhil-sdelat-nalogovuiu-sistemu-bolee-spravedlivoj.html
https://rg.ru/2022/03/31/reg-szfo/v-aeroportu-arhangelska-losi-pomeshali-samoletu-prizemlitsia.html
https://www.kp.ru/online/news/4836244/
https://www.kp.ru/daily/28280.5/4421122/
https://www.mk.ru/politics/2024/07/23/general-raskryl-chto-proizoshlo-s-vsu-pod-kharkovom.html
https://aif.ru/politics/world/otrezat_golovu_vo_imya_proroka_terakt_vo_francii_obnazhil_starye_problemy
https://www.fontanka.ru/2023/07/05/72464159/
https://novayagazeta.ru/articles/2022/07/28/rkn-trebuet-annulirovat-litsenziiu-smi-u-saita-novoi-gazety
https://meduza.io/feature/2017/01/29/kak-vybrat-shrift
https://meduza.io/news/2021/04/09/umer-suprug-korolevy-elizavety-ii-gertsog-edinburgskiy
https://meduza.io/en/feature/2022/04/05/mesto-gde-budet-vozmozhnost-otdyshatsya
https://regnum.ru/news/2900475.html
https://regnum.ru/news/economy/3433510.html
https://www.vesti.ru/nauka/article/2493310
https://www.vesti.ru/doc.html?id=3087914
https://vz.ru/news/2024/10/3/1290585.html
https://www.forbes.ru/forbes-woman/422565-sama-sebe-vrag-kak-mizoginiya-v-zhenskoy-srede-meshaet-karere
https://www.bfm.ru/news/554539
https://habr.com/ru/news/693250/
https://habr.com/ru/news/t/726730/
https://www.svoboda.org/a/umer-figurist-olimpiyskiy-chempion-aleksandr-gorshkov-/32134760.html
https://www.svoboda.org/a/29262109.html
https://www.rt.com/news/525559-china-us-france-germany-spies/
https://russian.rt.com/russia/article/863772-murashko-pobeda-covid-pandemiya
https://www.themoscowtimes.com/2023/04/24/russias-sberbank-launches-own-version-of-chatgpt-a80921
https://www.bbc.com/news/articles/c4gqyyly9v8o
https://www.bbc.com/news/world-europe-50473792
https://www.bbc.co.uk/news/articles/c4gqyyly9v8o
https://www.bbc.co.uk/news/world-us-canada-52241221
https://www.theguardian.com/us-news/2024/mar/02/joe-biden-disapproval-rating-new-low
https://www.theguardian.com/commentisfree/2019/nov/18/the-guardian-view-on-hong-kong-a-city-on-the-brink
https://www.nytimes.com/2024/06/01/technology/google-ai-overviews-rollback.html
https://www.npr.org/2023/11/09/1211571220/israel-gaza-damage-map-satellite-imagery
https://www.aljazeera.com/news/2025/12/30/trump-bombs-venezuelan-land-for-first-time-is-war-imminent
https://www.aljazeera.com/news/2019/11/service-members-killed-afghanistan-helicopter-crash-191120070028895.html
https://www.dw.com/de/ukrainische-gegenoffensive-ziele-chancen-risiken/a-65464327?maca=de-rss-de-all-1119-xml-mrss
https://www.france24.com/en/europe/20240123-why-french-farmers-are-up-in-arms-fuel-hikes-green-regulation-eu-directives
https://www.lemonde.fr/politique/article/2023/08/30/sophie-binet-met-en-garde_6187099_823448.html
https://www.lemonde.fr/en/economy/article/2023/10/29/striking-us-auto-union-reaches-tentative-deal-with-stellantis_6211625_19.html
https://www.spiegel.de/wirtschaft/unternehmen/silicon-valley-bank-federal-reserve-a-60a0111a-c2d2-46c8-9e93-b16a374e6ba8#ref=rss
https://www.tagesschau.de/ausland/asien/libanon-israel-blauhelme-nahost-102.html
https://www.tagesschau.de/ausland/indonesien-borneo-101.html
https://www.heise.de/news/Linux-Kernel-6-8-freigegeben-9650443.html
https://taz.de/Neues-Selbstbestimmungsgesetz/!5937342/
https://elpais.com/internacional/2022-01-30/las-pistas-clandestinas-que-bullen-en-la-selva-venezolana.html
https://www.corriere.it/esteri/23_novembre_07/netanyahu-israele-sicurezza-gaza-29e1453a-7d53-11ee-8bbd-2076da079d53.shtml
https://www.ansa.it/sito/notizie/mondo/2026/07/22/tra-londra-e-roma-un-vero-feeling_3cac47db-b500-4235-8c9b-c76df200c22e.html
https://www.euronews.com/2022/09/24/tap-cyberattack-portuguese-presidents-personal-data-stolen
https://www.euronews.com/my-europe/2024/03/01/what-to-expect
https://apnews.com/article/fact-check-mossad-air-force-enemy-israel-596187204627
https://apnews.com/sports/college-basketball-mens-college-basketball-illinois-aaeb44ca598744658d879628c820cd2e
https://www.cnn.com/2024/03/10/politics/katie-britt-sex-trafficking-victim-interview/index.html
https://www.abc.net.au/news/2024-05-18/australia-s-weather-stalls-for-the-second-time-this-month/103862310
https://www.cbc.ca/news/canada/montreal/drunk-driving-twice-quebec-breathalyzer-for-life-1.5369145
https://www.cbc.ca/news/politics/bill-c-22-encryption-cybersecurity-9.7213776
https://www.japantimes.co.jp/news/2024/10/20/japan/crime-legal/revised-road-traffic-law/
https://www.thehindu.com/news/national/chandrayaan-3-lands-on-the-moon/article67226955.ece
https://www.politico.eu/article/government-ireland-independent-michael-martin-group-riggers-verona-murphy/
https://www.independent.co.uk/news/uk/brit-awards-post-office-itv-horizon-raye-b2506036.html
https://techcrunch.com/2024/05/16/tiktok-upload-60-minute-videos/
https://arstechnica.com/tech-policy/2024/09/policy-change-lets-reddit-veto-user-protests/
https://kyivindependent.com/fire-reported-at-oil-depot-in-russias-krasnodar-krai-amid-drone-attack/
""")

OTHERS = words("""
https://lenta.ru/rubrics/world/
https://lenta.ru/rss/news
https://ria.ru/politics/
https://tass.ru/ekonomika
https://www.interfax.ru/business/
https://www.kommersant.ru/gallery/4310901
https://www.kommersant.ru/rubric/2
https://www.rbc.ru/politics/?utm_source=topline
https://www.vedomosti.ru/politics
https://www.gazeta.ru/politics/news/
https://iz.ru/1013670/video/uchenye-rasskazali-o-neobychnom-zelenom-snege-v-antarktide
https://rg.ru/tema/ekonomika/rss.xml
https://www.kp.ru/online/
https://www.mk.ru/politics/
https://aif.ru/politics/world
https://www.fontanka.ru/24hours_news.html
https://novayagazeta.ru/authors/123
https://meduza.io/podcasts/chto-sluchilos
https://regnum.ru/news/economy
https://www.vesti.ru/videos/show/vid/738256/
https://vz.ru/news/
https://www.forbes.ru/rating/403469-40-samyh-uspeshnyh-zvezd-rossii-do-40-let-reyting-forbes
https://www.bfm.ru/news
https://habr.com/ru/articles/693250/
https://habr.com/ru/news/page25/
https://www.svoboda.org/z/20421
https://www.rt.com/russia/
https://russian.rt.com/tag/zhivotnye
https://www.themoscowtimes.com/news
https://www.bbc.com/news/world
https://www.bbc.com/sounds/play/live:bbc_radio_fourfm
https://www.bbc.co.uk/iplayer
https://www.theguardian.com/world/middleeast
https://www.theguardian.com/profile/owen-jones
https://www.nytimes.com/section/world
https://www.npr.org/sections/world/
https://www.aljazeera.com/middle-east/
https://www.dw.com/en/germany/s-1432
https://www.france24.com/en/europe/
https://www.lemonde.fr/international/
https://www.spiegel.de/thema/klimawandel/
https://www.tagesschau.de/multimedia/video/video-1234567.html
https://www.tagesschau.de/ausland/europa/
https://www.heise.de/Datenschutzerklaerung-der-Heise-Medien-GmbH-Co-KG-4860.html
https://taz.de/Schwerpunkt-LGBTQIA-Community/!t5025674//
https://taz.de/Volle-Spalte-unterm-Artikel/!p5315//
https://elpais.com/internacional/
https://www.corriere.it/esteri/
https://www.ansa.it/sito/notizie/mondo/mondo.shtml
https://www.euronews.com/my-europe
https://apnews.com/hub/oddities
https://www.cnn.com/world/europe
https://www.abc.net.au/news/politics/
https://www.cbc.ca/news/politics
https://www.japantimes.co.jp/news/japan/
https://www.thehindu.com/news/national/tamil-nadu/
https://www.politico.eu/section/defense/
https://www.independent.co.uk/news/world
https://techcrunch.com/tag/leaderboards/
https://techcrunch.com/author/kyle-wiggers/
https://arstechnica.com/tech-policy/
https://kyivindependent.com/tag/war/
https://kyivindependent.com/news-archive/
""")

DENIED_EVERYWHERE = words("""
/login /user/login?next=/ /search?text=a /poisk/ /news/1/print/ /news/1/?print=1 /wp-admin/ /cart/
/calendar/2024/01 /news/a/amp/ /news/a.amp /news/1?outputType=amp /share?url=x /news/1/comments/
/news/a/comment-page-2 /newsletters/x /news/1?comment_id=7 /mailto:editor@example.org /about/
/privacy-policy /list?sort=date /events?ical=1
""")

INNOCENT = words("""
/news/search-for-survivors-goes-on /news/calendar-of-a-crisis /2024/01/02/printing-money /news/about-a-boy
/news/shared-grief /sport/tel-aviv-derby /news/1 / /comments/ /news/loginov-resigns /shopping-is-back
""")


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return load_rules(FOLDER)


def judge(rules: RuleSet, url: str) -> Match:
    rule = rules.for_url(url)
    return classify(rule, canonicalize(url, rule.drop_query))


def test_the_number_of_sites_is_sufficient_and_a_third_are_russian(rules: RuleSet) -> None:
    assert len(rules) >= 36
    assert sum(rule.language == "ru" for rule in rules) >= max(RUSSIAN, len(rules) / 3)


@pytest.mark.parametrize("url", ARTICLES)
def test_real_articles_are_recognised(rules: RuleSet, url: str) -> None:
    assert rules.get(rules.for_url(url).domain) is not None
    assert judge(rules, url).kind is Kind.ARTICLE


@pytest.mark.parametrize("url", OTHERS)
def test_other_pages_are_not_articles(rules: RuleSet, url: str) -> None:
    assert rules.get(rules.for_url(url).domain) is not None
    assert judge(rules, url).kind is not Kind.ARTICLE


def test_every_rule_has_examples_of_articles_and_other_pages(rules: RuleSet) -> None:
    domains = {rule.domain for rule in rules}
    assert {rules.for_url(url).domain for url in ARTICLES} == domains
    assert {rules.for_url(url).domain for url in OTHERS} == domains


def each(rules: RuleSet) -> Iterator[Rule]:
    yield from rules


def test_every_rule_is_polite_and_complete(rules: RuleSet) -> None:
    for rule in each(rules):
        assert rule.delay >= 1, rule.domain
        assert rule.concurrency == 1, rule.domain
        assert rule.language, rule.domain
        assert rule.timezone, rule.domain
        assert rule.article, rule.domain
        assert rule.seeds or rule.has_sources, rule.domain


def test_sources_of_rules_have_the_declared_kind(rules: RuleSet) -> None:
    for rule in each(rules):
        for kind, urls in (
            (Kind.FEED, rule.feeds),
            (Kind.SITEMAP, rule.sitemaps),
            (Kind.SECTION, (*rule.sections, *rule.seeds)),
        ):
            for url in urls:
                assert classify(rule, canonicalize(url, rule.drop_query)) == Match(kind), url


def test_shipped_rules_get_no_hints() -> None:
    loaded = read_folder(FOLDER)
    assert [str(hint) for hint in find_hints(loaded)] == []


@pytest.mark.parametrize("path", DENIED_EVERYWHERE)
def test_defaults_deny(rules: RuleSet, path: str) -> None:
    assert judge(rules, "https://example.org" + path).denied


@pytest.mark.parametrize("path", INNOCENT)
def test_defaults_do_not_deny_other_urls(rules: RuleSet, path: str) -> None:
    assert not judge(rules, "https://example.org" + path).denied
