"""Quality of the text on pages of small sites: themes of generators, old blogs, forums, press releases.

Posts with a known text in six languages (with headings, lists, quotes, code, tables and pictures; short and
long ones) are rendered by every theme that is installed and by templates in the style of old pages. The table
has these figures for each theme, for each half and in total:

* F1 of the body (4-gram shingles, as in :mod:`benchmarks.extraction`), for newsbot with the page alone, for
  newsbot with the page as an item of a feed, and for trafilatura. newsbot may refuse a page alone
  (``too_short``)
* the difference between the last two figures, with its standard error. For a theme, the standard error is
  calculated over the pages; for a half, it is calculated over the themes
* for each of these three extractions, the share of pages with less than half of the text

Captions of pictures are optional.

Every second theme of a generator, and every second template, belongs to the half ``looked-at``: its pages may
be looked at to improve the extraction. Pages of the other half may not be looked at.

Generators and themes are packages: those of ``benchmarks/requirements.txt``, hexo, its renderers and
``hexo-theme-*`` from npm (``NODE_PATH`` names the folder), and hugo, jekyll and wordpress from Debian (see
:mod:`benchmarks.cms`).

    python -m benchmarks.mixed [FOLDER] [--half looked-at|other] [--only pelican,forum] [--posts 24]
                               [--keep DIR]

``FOLDER`` contains ``score.py``. ``--keep`` writes the pages as a set (``index.jsonl``, ``html/``) to ``DIR``
and reads them from there the next time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from html import escape
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from benchmarks.cms import generators
from benchmarks.cms.posts import AUTHORS, NOW, ZONE, Post
from benchmarks.cms.wordpress import installed_themes, wordpress
from benchmarks.extraction import DATA, load_definitions, newsbot, newsbot_feed, paired
from benchmarks.extractors import Fields, plain_trafilatura
from benchmarks.patience import bounded
from testbed.demoweb.lexicon import load_language
from testbed.demoweb.prose import Writer
from testbed.messages import Request

POSTS = 24
LOOKED_AT, OTHER = "looked-at", "other"
SECONDS = 60.0
READERS = {"alone": newsbot, "in a feed": newsbot_feed, "trafilatura": plain_trafilatura}
PELICAN = ("notmyidea", "simple", "smallweb", "themeless")
NIKOLA = ("bootblog4", "base", "bootstrap4", "base-jinja")
SENTENCES = {
    "de": """Der Stadtrat von {town} hat am Abend {n} Anträge zum Haushalt beraten.
{name} sagte, die Arbeiten an der Brücke seien im Zeitplan und würden im Herbst beendet.
Die Kosten stiegen seit dem Frühjahr um {n} Prozent, teilte die Verwaltung mit.
Rund {n} Menschen kamen zur Versammlung in die alte Markthalle von {town}.
Nach Angaben von {name} fehlen für den Neubau der Schule noch {n} Genehmigungen.
Die Feuerwehr rückte in der Nacht mit {n} Fahrzeugen aus, verletzt wurde niemand.
Ob der Verein die Halle weiter nutzen darf, entscheidet ein Gericht im Mai.
Der neue Fahrplan gilt ab Montag, er bringt {n} zusätzliche Züge nach {town}.
"Wir haben lange darauf gewartet", sagte {name} bei der Eröffnung.
Händler in der Altstadt klagen über Lärm, Staub und {n} gesperrte Parkplätze.
Im vergangenen Jahr waren es nach einer Zählung {n} Besucher weniger.
Die Fachleute empfehlen, {n} Bäume am Ufer zu fällen und neue zu pflanzen.""",
    "tr": """{town} belediyesi bu akşam bütçeyle ilgili {n} öneriyi görüştü.
{name}, köprüdeki çalışmaların sonbaharda tamamlanacağını söyledi.
Yetkililere göre masraflar ilkbahardan bu yana yüzde {n} arttı.
Eski pazar yerindeki toplantıya yaklaşık {n} kişi katıldı.
Okulun yeni binası için henüz {n} izin daha gerekiyor, dedi {name}.
İtfaiye gece {n} araçla yola çıktı, yaralanan olmadı.
Derneğin salonu kullanıp kullanamayacağına mahkeme mayıs ayında karar verecek.
Yeni tarife pazartesi günü başlıyor ve {town} için {n} ek sefer getiriyor.
"Bunu uzun zamandır bekliyorduk", diye konuştu {name} açılışta.
Esnaf gürültüden, tozdan ve kapatılan {n} park yerinden şikâyetçi.
Geçen yıl yapılan sayıma göre ziyaretçi sayısı {n} kişi azaldı.
Uzmanlar kıyıdaki {n} ağacın kesilip yenilerinin dikilmesini öneriyor.""",
    "ar": """ناقش مجلس مدينة {town} مساء اليوم {n} مقترحات تتعلق بالميزانية.
قال {name} إن أعمال الجسر تسير وفق الجدول وستنتهي في الخريف.
ارتفعت التكاليف منذ الربيع بنسبة {n} في المئة وفق ما أعلنته الإدارة.
حضر الاجتماع في السوق القديم نحو {n} شخصا من سكان {town}.
وأضاف {name} أن بناء المدرسة الجديدة ما زال يحتاج إلى {n} تصاريح.
خرج رجال الإطفاء ليلا بعدد {n} من السيارات ولم يصب أحد بأذى.
ستقرر المحكمة في شهر مايو ما إذا كانت الجمعية تستطيع استخدام القاعة.
يبدأ العمل بالجدول الجديد يوم الاثنين ويضيف {n} رحلة إلى {town}.
«لقد انتظرنا هذا اليوم طويلا»، هكذا تحدث {name} في الافتتاح.
يشكو التجار من الضجيج والغبار ومن إغلاق {n} موقفا للسيارات.
في العام الماضي انخفض عدد الزوار بنحو {n} زائرا حسب الإحصاء.
يوصي الخبراء بقطع {n} شجرة على ضفة النهر وزراعة أشجار جديدة.""",
    "zh": """{town}市议会昨晚讨论了{n}项有关预算的提案。
{name}表示，大桥工程按计划进行，秋天将会完工。
据管理部门介绍，今年春天以来费用上涨了百分之{n}。
大约{n}名居民来到老市场参加了这次会议。
{name}说，新校舍的建设还需要{n}份许可文件。
消防队夜间出动了{n}辆车，没有人员受伤。
协会能否继续使用礼堂，法院将在五月作出裁决。
新的时刻表从星期一开始实行，开往{town}的列车增加{n}班。
“我们等待这一天已经很久了”，{name}在开幕式上说道。
商户抱怨噪音和灰尘，还有{n}个停车位被关闭。
根据统计，去年的游客人数减少了{n}人。
专家建议砍掉河岸上的{n}棵树，再种上新的树苗。""",
}
TITLES = {
    "de": "{town} streitet über die Brücke und {n} weitere Vorhaben",
    "tr": "{town} köprü için {n} yeni öneri bekliyor",
    "ar": "مدينة {town} تنتظر {n} مشروعا جديدا هذا العام",
    "zh": "{town}公布{n}个新建设项目的名单",
}
TOWNS = {
    "de": ("Altenfurt", "Neuried am See", "Bergheim"),
    "tr": ("Yeşilova", "Akpınar", "Karatepe"),
    "ar": ("النور", "الواحة", "الساحل"),
    "zh": ("青河", "东山", "南平"),
}
NAMES = {
    "de": ("Karl Brandt", "Ute Lehmann"),
    "tr": ("Ayşe Demir", "Mehmet Kaya"),
    "ar": ("سامي حداد", "ليلى منصور"),
    "zh": ("王明", "李红"),
}
LANGUAGES = ("en", "ru", *SENTENCES)


_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\w)")


class Prose:
    """Writes paragraphs and titles in one language."""

    def __init__(self, code: str, chance: random.Random) -> None:
        self._code, self._chance = code, chance
        self._writer = Writer(load_language(code), chance) if code not in SENTENCES else None

    def title(self) -> str:
        """Return a headline."""
        return self._writer.story().title if self._writer else self._filled(TITLES[self._code])

    def paragraph(self, sentences: int = 3) -> str:
        """Return a paragraph of about this many sentences."""
        if self._writer:
            whole = " ".join(self._writer.story().paragraphs[1:])
            return " ".join(_SENTENCE.split(whole)[:sentences])
        chosen = self._chance.sample(SENTENCES[self._code].splitlines(), sentences)
        return ("" if self._code == "zh" else " ").join(map(self._filled, chosen))

    def _filled(self, form: str) -> str:
        pick = self._chance.choice
        return form.format(town=pick(TOWNS[self._code]), name=pick(NAMES[self._code]), n=pick(range(3, 400)))


def make_posts(count: int) -> list[Post]:
    """Return posts, newest first. The slug begins with the code of the language."""
    chance = random.Random(17)
    writers = {code: Prose(code, chance) for code in LANGUAGES}
    posts = []
    for number in range(count):
        code = LANGUAGES[number % len(LANGUAGES)]
        at = (NOW - timedelta(hours=20 * number)).astimezone(ZONE).replace(microsecond=0)
        title, author = writers[code].title(), AUTHORS[number % len(AUTHORS)]
        blocks = _blocks(writers[code], number // len(LANGUAGES) + number, chance)
        posts.append(Post(f"{code}-report-{number}", title, author, "town", at, tuple(blocks)))
    return posts


def _blocks(prose: Prose, number: int, chance: random.Random) -> list[tuple[str, str]]:
    """Return the blocks of a post: a short text for every fourth post, otherwise a long one with headings."""
    if number % 4 == 0:
        return [("p", prose.paragraph())]
    found = [("p", prose.paragraph(chance.choice((2, 3, 4)))) for _ in range(chance.choice((3, 5, 8, 14)))]
    if number % 2:
        found += [("h2", prose.title()), ("p", prose.paragraph()), ("quote", prose.paragraph(2))]
    if number % 3 == 0:
        found += [("p", prose.paragraph()), *(("li", prose.paragraph(1)) for _ in range(4))]
    if number % 3 == 1:
        found[1:1] = [("caption", prose.title())]
    if number % 5 == 0:
        found += [("code", f"total = sum(values[{at}:]) / {at + 7}") for at in range(4)]
        found += [("p", prose.paragraph())]
    if number % 5 == 1:
        found += [("row", f"{prose.title()} | {chance.randrange(900)}") for _ in range(4)]
        found += [("p", prose.paragraph(2))]
    return found


@dataclass(frozen=True, slots=True)
class Theme:
    """A theme and its half. ``pages`` yields for each post the URL and the page."""

    name: str
    half: str
    pages: Callable[[Sequence[Post], Path], Iterator[tuple[Post, str, str]]]


def themes() -> list[Theme]:
    """Return the themes that can be rendered on this machine."""
    groups: list[list[tuple[str, Any]]] = [
        [(f"pelican-{name}", partial(generators.pelican, theme=name)) for name in PELICAN],
        [(f"nikola-{name}", partial(generators.nikola, theme=name)) for name in NIKOLA],
        [
            (f"mkdocs-{name}", partial(generators.mkdocs, theme=name))
            for name in sorted(entry.name for entry in entry_points(group="mkdocs.themes"))
        ],
        [(name, partial(generators.hexo, theme=name[5:])) for name in _hexo_themes()],
        [(name, getattr(generators, name)) for name in ("hugo", "jekyll") if generators.installed(name)],
    ]
    made = [[(name, partial(_generated, name, generate)) for name, generate in group] for group in groups]
    made.append([(name, partial(_served, name)) for name in installed_themes()])
    made.append([(name, partial(_printed, name, template)) for name, template in TEMPLATES.items()])
    return [
        Theme(name, OTHER if number % 2 else LOOKED_AT, pages)
        for group in made
        for number, (name, pages) in enumerate(group)
    ]


def _hexo_themes() -> list[str]:
    return [f"hexo-{path.name.removeprefix('hexo-theme-')}" for path in generators.hexo_themes()]


def _generated(
    name: str, generate: Callable[[Path, str, Sequence[Post]], Path], posts: Sequence[Post], folder: Path
) -> Iterator[tuple[Post, str, str]]:
    url = f"http://{name}.example"
    (folder / name).mkdir()
    output = generate(folder / name, url, posts)
    for post in posts:
        found = [path for path in output.rglob("*.html") if post.slug in (path.stem, path.parent.name)]
        if found:
            path = min(found, key=lambda path: len(path.parts))
            yield post, f"{url}/{path.relative_to(output)}", path.read_text(encoding="utf-8")


def _served(name: str, posts: Sequence[Post], folder: Path) -> Iterator[tuple[Post, str, str]]:
    with wordpress(name, folder) as site:
        site.publish(posts)
        for post in posts:
            url = f"http://{site.host}/{post.published:%Y/%m}/{post.slug}/"
            answer = site(Request(method="GET", host=site.host, path=urlsplit(url).path, headers={}))
            if answer.status == 200:
                yield post, url, answer.body.decode()


@dataclass(slots=True)
class Scene:
    """The texts that a template prints beside the post, in the language of the post."""

    post: Post
    prose: Prose
    chance: random.Random

    @property
    def title(self) -> str:
        """The headline of the post."""
        return escape(self.post.title)

    def date(self, form: str = "%d.%m.%Y, %H:%M") -> str:
        """Return the time of the post."""
        return self.post.published.strftime(form)

    def text(self, sentences: int = 2) -> str:
        """Return a paragraph that does not belong to the post."""
        return escape(self.prose.paragraph(sentences))

    def links(self, count: int, around: str = "<li>{}</li>") -> str:
        """Return links to other posts."""
        return "".join(around.format(f'<a href="/{at}.html">{self.prose.title()}</a>') for at in range(count))

    def teasers(self, count: int) -> str:
        """Return headlines, each with a paragraph."""
        return "".join(
            f'<b><a href="/n{at}.html">{self.prose.title()}</a></b><br>{self.text(1)}<br><br>'
            for at in range(count)
        )

    def comments(self, form: str) -> str:
        """Return up to five remarks of readers. ``form`` has fields for the name and the words."""
        count = self.chance.randrange(6)
        names = ("Guest", "kalle77", "Maria S.", "old_sailor", "Admin")
        return "".join(
            form.format(names[at], self.text(self.chance.choice((1, 2, 3)))) for at in range(count)
        )

    def body(self, style: str = "p") -> str:
        """Return the text of the post: in paragraphs, divided by ``br``, in ``div`` or as plain lines."""
        if style == "plain":
            return "\n\n".join(escape(text) for _, text in self.post.blocks)
        if style == "br":
            return "<br><br>\n".join(
                f"<b>{escape(text)}</b>" if kind == "h2" else escape(text) for kind, text in self.post.blocks
            )
        picture = '<div align="center"><img src="p.jpg"><br><small>{}</small></div>'
        forms = {
            "h2": "<h3>{}</h3>", "li": "<ul><li>{}</li></ul>", "quote": "<blockquote>{}</blockquote>",
            "code": "<pre>{}</pre>", "row": "<table border=1><tr><td>{}</td></tr></table>", "caption":
picture,
        }  # fmt: skip
        return "\n".join(
            forms.get(kind, f"<{style}>{{}}</{style}>").format(
                escape(text).replace(" | ", "</td><td>") if kind == "row" else escape(text)
            )
            for kind, text in self.post.blocks
        )


_HEAD = '<head><meta http-equiv="Content-Type" content="text/html; charset=utf-8">'


def _printed(
    name: str, template: Callable[[Scene], str], posts: Sequence[Post], _: Path
) -> Iterator[tuple[Post, str, str]]:
    chance = random.Random(name)
    writers = {code: Prose(code, chance) for code in LANGUAGES}
    for number, post in enumerate(posts):
        page = template(Scene(post, writers[post.slug[:2]], chance)).replace("<head>", _HEAD, 1)
        yield post, f"http://{name}.example/show.php?id={number + 40}", page


def _table_layout(s: Scene) -> str:
    """A portal of 2004: three columns of a table."""
    return f"""<html><head><title>City Portal :: {s.title}</title></head><body bgcolor="#ffffff">
<table width="780" align="center" cellpadding="0"><tr><td colspan="3"><img src="logo.gif"><a
href="/">Home</a> |
<a href="/news">News</a> | <a href="/contact">Contact</a></td></tr><tr><td width="150" valign="top">
<table>{s.links(8, "<tr><td class=menu>{}</td></tr>")}</table></td><td valign="top">
<font size="4"><b>{s.title}</b></font><br><font size="1" color="gray">{s.date()}</font><br><br>
<font face="Arial" size="2">{s.body("br")}</font><br><br><a href="print.php">Print version</a></td>
<td width="180" valign="top" bgcolor="#eeeeee"><font size="1">{s.teasers(5)}</font></td></tr>
<tr><td colspan="3" align="center"><font size="1">Copyright 2004 City Portal. {s.text(1)}</font></td></tr>
</table></body></html>"""


def _blogger(s: Scene) -> str:
    """A blog of Blogger before 2010."""
    comment = '<dt class="comment-poster">{} said...</dt><dd class="comment-body"><p>{}</p></dd>'
    return f"""<html><head><title>Notes from the Hill: {s.title}</title></head><body><div id="content">
<div id="header"><h1 class="blog-title"><a href="/">Notes from the Hill</a></h1><p
class="description">{s.text(1)}</p>
</div><div id="main"><div class="blog-posts"><h2 class="date-header">{s.date("%A, %B %d, %Y")}</h2><div
class="post">
<h3 class="post-title">{s.title}</h3><div class="post-body"><div>{s.body("br")}<div style="clear:
both;"></div></div> </div><p class="post-footer"><em>posted by {s.post.author} at <a
href="#">{s.date("%I:%M %p")}</a></em></p></div>
<div id="comments"><h4>Comments:</h4><dl>{s.comments(comment)}</dl></div></div></div><div id="sidebar">
<div id="profile-container"><h2>About Me</h2><p>{s.text(3)}</p></div><h2>Previous
Posts</h2><ul>{s.links(9)}</ul>
<h2>Archives</h2><ul><li><a href="/2005">April 2005</a></li><li><a href="/2006">May
2005</a></li></ul></div></div> </body></html>"""


def _phpbb(s: Scene) -> str:
    """An announcement in a forum of phpBB 2, with a signature and replies."""

    def row(name: str, words: str) -> str:
        return f"""<tr><td width="150" valign="top" class="row1"><span class="name"><b>{name}</b></span><br>
<span class="postdetails">Joined: 12 Mar 2003<br>Posts: 412<br>Location: Hill</span></td><td class="row1"
valign="top"><table width="100%"><tr><td><span class="postdetails">Posted: {s.date()} &nbsp; Post subject:
{s.title}</span></td><td align="right"><a href="#">Quote</a></td></tr><tr><td colspan="2"><hr></td></tr><tr>
<td colspan="2"><span class="postbody">{words}</span><span
class="gensmall"></span></td></tr></table></td></tr>"""

    signed = f'{s.body("br")}</span><span class="postbody"><br>_________________<br>{s.text(1)}'
    return f"""<html><head><title>Hill Forum :: View topic - {s.title}</title></head><body><a href="/">Forum
Index</a> <table class="forumline" width="100%"><tr><td><a class="maintitle" href="#">{s.title}</a></td></tr>
<tr><th class="thLeft">Author</th><th class="thRight">Message</th></tr>{row("Admin", signed)}
{s.comments(row("{}", "{}"))}</table><span class="gensmall">All times are GMT + 1 Hour.
You cannot post new topics in this forum. You cannot reply to topics in this forum.</span>
Powered by phpBB 2.0.22</body></html>"""


def _vbulletin(s: Scene) -> str:
    """An announcement in a forum of vBulletin 3."""
    start = s.chance.randrange(1000, 9000)

    def post(number: int, name: str, words: str) -> str:
        return f"""<table id="post{start + number}" class="tborder" width="100%"><tr><td
class="thead">{s.date()}</td>
</tr><tr><td class="alt2"><a class="bigusername" href="#">{name}</a><div class="smallfont">Senior Member</div>
<div class="smallfont">Join Date: Oct 2004<br>Posts: 1,203</div></td></tr><tr><td class="alt1"><div
class="smallfont"><strong>{s.title}</strong></div><hr><div id="post_message_{start + number}">{words}</div>
<div>__________________<br>{s.text(1)}</div></td></tr></table>"""

    replies = "".join(post(at, "guest", s.text(2)) for at in range(1, s.chance.randrange(1, 5)))
    return f"""<html><head><title>{s.title} - The Hill Forums</title></head><body><div class="page"><table
class="tborder"><tr><td class="alt1"><span class="navbar"><a href="/">The Hill Forums</a> &gt; <a
href="/a">News</a>
</span></td></tr></table><div id="posts">{post(0, "Editor", s.body("br"))}{replies}</div><div
class="smallfont">
Similar Threads</div><table>{s.links(4, "<tr><td>{}</td></tr>")}</table><div class="smallfont">All times are
GMT. </div></div></body></html>"""


def _press(s: Scene) -> str:
    """A press release with the company's own words about itself, and a box with addresses."""
    return f"""<!DOCTYPE html><html lang="{s.post.slug[:2]}"><head><meta charset="utf-8"><title>{s.title} |
Hill Pumps
Ltd</title></head><body><div class="cookie-bar"><p>{s.text(2)}</p><button>OK</button></div><header><a
href="/">Hill
Pumps</a><nav><ul><li><a href="/products">Products</a></li><li><a href="/careers">Careers</a></li><li><a
href="/press">Press</a></li></ul></nav></header><div class="container"><div class="row"><div class="col-md-8">
<h1>{s.title}</h1><p class="date">{s.date("%d %B %Y")}</p>{s.body()}<h4>About Hill
Pumps</h4><p>{s.text(3)}</p></div>
<div class="col-md-4"><div class="contact-box"><h4>Press contact</h4><p>{s.post.author}<br>Hill Pumps
Ltd<br>Station
Road 4, 40210 Hill<br>Phone: +49 211 555 0100<br>press@hillpumps.example</p></div><div class="box"><h4>Further
releases</h4><ul>{s.links(4)}</ul></div></div></div></div><footer><p>© 2025 Hill Pumps Ltd.
{s.text(1)}</p></footer> </body></html>"""


def _bare(s: Scene) -> str:
    """A page written by hand."""
    return f"""<html><body><h2>{s.title}</h2>{s.body()}<hr><p><a href="index.html">Back to the start</a></p>
<p>{s.post.author}, {s.date("%d %B %Y")}</p></body></html>"""


def _one_cell(s: Scene) -> str:
    """A text divided by line breaks in one cell, beside a menu."""
    return f"""<html><head><title>News</title></head><body><table border=0><tr><td valign=top>
{s.links(7, "{}<br>")}</td><td
valign=top><b>{s.title}</b><br>{s.date("%d.%m.%y")}<br><br>{s.body("br")}<br><br>
<a href="news.html">back</a></td></tr></table></body></html>"""


def _sidebars(s: Scene) -> str:
    """A narrow text between two columns of long announcements, as on sites with frames."""
    notes = "".join(f"<p><b>{s.prose.title()}</b><br>{s.text(2)}</p>" for _ in range(4))
    return f"""<html><head><title>{s.title}</title></head><body><table width="100%"><tr><td width="22%"
valign="top"> {s.links(6, "<div>{}</div>")}{notes}</td><td
valign="top"><h1>{s.title}</h1><i>{s.post.author}</i>{s.body("div")}</td>
<td width="22%" valign="top"><h3>Notices</h3>{s.teasers(4)}</td></tr></table></body></html>"""


def _phpnuke(s: Scene) -> str:
    """A portal of PHP-Nuke with boxes on both sides."""
    comment = "<table width=99%><tr><td bgcolor=#e6e6e6><b>Re: </b> by {}</td></tr>"
    comment += "<tr><td>{}</td></tr></table>"

    def box(title: str, inner: str) -> str:
        head = f"<tr><td><b>{title}</b></td></tr>"
        return f"<table class=box>{head}<tr><td class=boxcontent>{inner}</td></tr></table>"

    return f"""<html><head><title>Hill Nuke - {s.title}</title></head><body><table><tr><td valign=top>
{box("Modules", s.links(6, "<strong>·</strong> {}<br>"))}{box("Survey", s.text(1))}</td><td valign=top
width=100%>
<table><tr><td><font class="option"><b>{s.title}</b></font></td></tr><tr><td><font class="content">Posted on
{s.date("%A, %B %d @ %H:%M:%S")} by <a href="#">admin</a> (1240 reads)</font></td></tr><tr><td>
<font class="content">{s.body("br")}</font></td></tr></table>{s.comments(comment)}</td><td valign=top>
{box("Login", "Nickname Password. Don't have an account yet? You can create one.")}
{box("Related Links", s.links(3, "{}<br>"))}
{box("Article Rating", "Average Score: 4.5 Votes: 12")}</td></tr></table>
<center>All logos and trademarks in this site are property of their respective
owner.</center></body></html>"""


def _movable_type(s: Scene) -> str:
    """A blog of Movable Type 2, with trackbacks."""
    comment = '<p>{1}</p><span class="comments-post">Posted by: {0} at April 4, 2003 10:12 PM</span>'
    return f"""<html><head><title>hillside: {s.title}</title></head><body><div id="banner"><h1><a
href="/">hillside</a>
</h1><span class="description">{s.text(1)}</span></div><div id="container"><div class="blog"><div
class="blogbody">
<a href="/1">&laquo; {s.prose.title()}</a> | <a href="/">Main</a> | <a href="/2">{s.prose.title()} &raquo;</a>
<h3 class="title">{s.title}</h3>{s.body()}<span class="posted">Posted by {s.post.author} at
{s.date()}</span><br></div>
<div class="comments-head">Trackback Pings</div><div class="comments-body">TrackBack URL for this entry:
http://hillside.example/cgi/mt-tb.cgi/{s.chance.randrange(900)}</div><div
class="comments-head">Comments</div><div
class="comments-body">{s.comments(comment)}</div></div></div></body></html>"""


def _diary(s: Scene) -> str:
    """An entry of a diary service, with a tree of comments."""
    comment = '<div style="margin-left:25px"><table><tr><td class="c1"><b>{}</b></td></tr></table>'
    comment += "<div>{}</div></div>"
    return f"""<html><head><title>hillwalker: {s.title}</title></head><body><table class="entrybox"><tr><td>
<img src="userpic.jpg"></td><td><b>hillwalker</b><br>{s.date()}</td></tr><tr><td colspan="2"><div
class="subject">
{s.title}</div><div class="entry">{s.body("br")}</div><div>Current mood: calm</div></td></tr></table>
<p>(<a href="?reply">Leave a comment</a>)</p>{s.comments(comment)}</body></html>"""


def _drupal(s: Scene) -> str:
    """A node of Drupal 6."""
    comment = """<div class="comment"><h3><a href="#c">Re</a></h3><div class="submitted">{} wrote:</div>
<div class="content"><p>{}</p></div></div>"""
    return f"""<html><head><title>{s.title} | Hill Society</title></head><body class="sidebar-left"><div
id="wrapper">
<div id="sidebar-left" class="sidebar"><div class="block"><h2>Navigation</h2><ul>{s.links(5)}</ul></div></div>
<div id="center"><h2>{s.title}</h2><div id="node-31" class="node"><span class="submitted">{s.date()} —
{s.post.author}</span><div class="content clear-block">{s.body()}</div><div class="links"><ul class="links
inline">
<li><a href="#">Add new comment</a></li></ul></div></div><div id="comments">{s.comments(comment)}</div></div>
<div id="footer">{s.text(1)}</div></div></body></html>"""


def _joomla(s: Scene) -> str:
    """An article of Joomla 1.5: tables and Word markup."""
    return f"""<html><head><title>{s.title}</title></head><body><div id="leftcolumn"><div
class="moduletable"><h3>Main
Menu</h3><ul class="menu">{s.links(6)}</ul></div></div><div id="maincolumn"><table
class="contentpaneopen"><tr><td
class="contentheading" width="100%">{s.title}</td></tr></table><table class="contentpaneopen"><tr><td><span
class="small">Written by {s.post.author}</span></td></tr><tr><td
class="createdate">{s.date("%A, %d %B %Y %H:%M")}</td>
</tr><tr><td valign="top">{s.body("div")}</td></tr><tr><td class="modifydate">Last Updated on
{s.date()}</td></tr> </table></div><div id="rightcolumn"><div class="moduletable"><h3>Latest
News</h3>{s.teasers(3)}</div></div></body></html>
"""


def _mailing_list(s: Scene) -> str:
    """A message in the archive of a mailing list, as preformatted text."""
    return f"""<html><head><title>[announce] {s.title}</title></head><body><h1>[announce] {s.title}</h1>
<b>{s.post.author}</b> <a href="mailto:x">editor at
hill.example</a><br><i>{s.date("%a %b %d %H:%M:%S CET %Y")}</i>
<ul><li>Previous message: <a href="1.html">{s.prose.title()}</a></li><li>Next message: <a
href="2.html">{s.prose.title()}</a></li></ul><hr><pre>{s.body("plain")}
</pre><hr><a href="info.html">More information about the announce mailing list</a></body></html>"""


TEMPLATES: dict[str, Callable[[Scene], str]] = {
    "table-layout": _table_layout,
    "blogger": _blogger,
    "phpbb": _phpbb,
    "vbulletin": _vbulletin,
    "press": _press,
    "bare": _bare,
    "one-cell": _one_cell,
    "sidebars": _sidebars,
    "phpnuke": _phpnuke,
    "movable-type": _movable_type,
    "diary": _diary,
    "drupal": _drupal,
    "joomla": _joomla,
    "mailing-list": _mailing_list,
}


def write_pages(folder: Path, posts: Sequence[Post]) -> None:
    """Write the pages of all themes as a set. If a generator fails, print the error and skip its theme."""
    (folder / "html").mkdir(parents=True)
    lines = []
    for theme in themes():
        with ExitStack() as stack:
            sites = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newsbot-mixed-")))
            try:
                found = list(theme.pages(posts, sites))
            except (RuntimeError, OSError) as error:
                print(f"{theme.name}: {error}")
                continue
        print(f"{theme.name}: {len(found)} pages", flush=True)
        for post, url, html in found:
            place = f"html/{theme.name}-{post.slug}.html.gz"
            (folder / place).write_bytes(gzip.compress(html.encode(), mtime=0))
            row = {"id": place, "theme": theme.name, "half": theme.half, "url": url, "lang": post.slug[:2]}
            lines.append(json.dumps({**row, "html": place, "gold": gold_of(post)}, ensure_ascii=False))
    (folder / "index.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def gold_of(post: Post) -> dict[str, str]:
    """Return the known text of a post, and the captions, which are optional."""
    kept = [text for kind, text in post.blocks if kind != "caption"]
    captions = [text for kind, text in post.blocks if kind == "caption"]
    return {"title": post.title, "text": "\n".join(kept), "optional": "\n".join(captions)}


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="where score.py is")
    parser.add_argument("--half", choices=(LOOKED_AT, OTHER), help="default: both")
    parser.add_argument("--only", help="comma-separated prefixes of the names of themes")
    parser.add_argument("--posts", type=int, default=POSTS)
    parser.add_argument("--keep", type=Path, help="folder for the pages")
    options = parser.parse_args(arguments)
    definitions = load_definitions(options.folder)
    with ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "pages"
        if not (folder / "index.jsonl").exists():
            write_pages(folder, make_posts(options.posts))
        pages = read_pages(definitions, folder, options.half)
    chosen = tuple(options.only.split(",")) if options.only else ("",)
    show(definitions, [page for page in pages if page["theme"].startswith(chosen)])


def read_pages(definitions: ModuleType, folder: Path, half: str | None = None) -> list[Fields]:
    """Return the kept pages (of one half) with their themes."""
    rows = [json.loads(line) for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines()]
    pages = []
    for row, page in zip(rows, definitions.ds_flat(str(folder)), strict=True):
        html = page["read"]()
        pages.append(page | {"theme": row["theme"], "half": row["half"], "read": lambda html=html: html})
    return [page for page in pages if half in (None, page["half"])]


def show(definitions: ModuleType, pages: list[Fields]) -> None:
    """Print the table."""
    print(f"{'':22}{'pages':>6}{'alone':>7}{'in a feed':>11}{'trafilatura':>13}", end="")
    print(f"{'difference':>17}{'under half':>19}")
    read: dict[str, dict[str, Fields]] = {name: {} for name in READERS}
    gains: dict[str, list[float]] = {LOOKED_AT: [], OTHER: []}
    for theme in dict.fromkeys(page["theme"] for page in pages):
        own = [page for page in pages if page["theme"] == theme]
        for name, reader in READERS.items():
            read[name] |= definitions.run(bounded(reader), own, SECONDS)
        pair = paired(definitions, "mixed", own, read["in a feed"], read["trafilatura"])
        gains[own[0]["half"]].append(pair["F1_gain"])
        _show_row(definitions, (theme, own), read, (pair["F1_gain"], pair["F1_gain_error"]))
    for half, values in (*gains.items(), ("both halves", [*gains[LOOKED_AT], *gains[OTHER]])):
        if len(values) > 1:
            own = [page for page in pages if half in (page["half"], "both halves")]
            gain = statistics.mean(values), statistics.stdev(values) / len(values) ** 0.5
            _show_row(definitions, (half, own), read, gain)


def _show_row(
    definitions: ModuleType,
    named: tuple[str, list[Fields]],
    read: dict[str, dict[str, Fields]],
    gain: tuple[float, float],
) -> None:
    name, pages = named
    scores, few = [], []
    for answers in read.values():
        rows = [
            definitions.body(page["gold"], answers[page["id"]].get("text") or "", strict=False)
            for page in pages
        ]
        scores.append(definitions.prf(rows)[2])
        few.append(sum(right < missing for right, _, missing, _ in rows) / len(rows))
    print(
        f"{name:22}{len(pages):6}{scores[0]:7.3f}{scores[1]:11.3f}{scores[2]:13.3f}"
        f"   {gain[0]:+.3f} ± {gain[1]:.3f}  {few[0]:.3f} {few[1]:.3f} {few[2]:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
