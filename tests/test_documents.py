"""Documents as articles: PDF, DOCX, ODT, RTF, Markdown and plain text."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest

from newsbot.apps.documents import child, reader
from newsbot.apps.documents.reader import READER
from newsbot.errors import NotAnArticle
from newsbot.items import Article
from newsbot.pages.extraction import read_page
from tests.commandline import Place
from tests.crawls import article_html
from tests.documentfiles import OPEN_DOCUMENT, WORDPROCESSING, archive, docx, odt, pdf, text_string
from tests.newssite import HOST, feed_of

needs_pdf = pytest.mark.skipif(find_spec("pdfminer") is None, reason="requirements-documents.txt")
needs_rtf = pytest.mark.skipif(find_spec("striprtf") is None, reason="requirements-documents.txt")

RUSSIAN = (
    "Министерство транспорта закроет мост через Каму на ремонт",
    "Ремонт начнётся в мае и продлится восемь месяцев, сообщила пресс-служба ведомства во вторник.",
    "Грузовики поедут в объезд через Елабугу, а легковые автомобили смогут проехать ночью по одной полосе.",
    "Стоимость работ составит 340 миллионов рублей, деньги выделены из федерального бюджета.",
)
GERMAN = (
    "Verwaltungsgericht stoppt den Bau der Umgehungsstraße",
    "Das Gericht gab am Donnerstag der Klage eines Naturschutzverbandes gegen den Landkreis statt.",
    "Die Behörde habe die Folgen für das Moor nicht ausreichend geprüft, heißt es in der Begründung.",
    "Gegen das Urteil kann der Landkreis innerhalb eines Monats Berufung beim Obergericht einlegen.",
)
ARABIC = (
    "المحكمة العليا تلغي قرار رفع رسوم المياه",
    "ألغت المحكمة العليا يوم الأحد قرار رفع رسوم المياه بنسبة 15% الذي اتخذته البلدية في الربيع.",
    "وقالت المحكمة إن البلدية لم تنشر الدراسة (2026) التي استندت إليها قبل اتخاذ القرار.",
    "ورحبت جمعية المستهلكين بالحكم وطالبت بإعادة المبالغ إلى السكان قبل نهاية العام.",
)


def read(body: bytes, content_type: str = "", url: str = "https://gov.example/files/1") -> Article:
    assert READER.recognises(url, content_type, body)
    return read_page(READER.to_html(url, content_type, body).html, url)


def why(body: bytes, content_type: str = "", url: str = "https://gov.example/files/1") -> str:
    assert READER.recognises(url, content_type, body)
    with pytest.raises(NotAnArticle) as refused:
        READER.to_html(url, content_type, body)
    return refused.value.reason


def wrapped(text: str, width: int = 60) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def printed(texts, *, turn=str, footer="") -> list[tuple[float, str]]:
    lines = [(20.0, turn(line)) for line in wrapped(texts[0], 36)]
    for text in texts[1:]:
        lines += [(0.0, ""), *((11.0, turn(line)) for line in wrapped(text))]
    return [*lines, (0.0, ""), (0.0, ""), (9.0, footer)]


def in_places(line: str) -> str:
    """Return a line of Arabic in the order of places: from left to right, except numbers."""
    words = [word if word[0].isdigit() else word[::-1] for word in line.split()]
    words = [f"({word[1:-1][::-1]})" if word.endswith("(") else word for word in words]
    return " ".join(reversed(words))


# --- PDF
@needs_pdf
@pytest.mark.parametrize(("texts", "language"), [(RUSSIAN, "ru"), (GERMAN, "de")])
def test_a_pdf_is_an_article_with_its_paragraphs(texts, language):
    info = f"/Title {text_string('Microsoft Word - 17.doc')}/CreationDate(D:20261103091500+03'00')"
    info += f"/Author {text_string('Ирина Петрова')}"
    article = read(pdf([printed(texts)], info=info))
    assert article.title == texts[0]
    assert article.text.split("\n") == list(texts[1:])
    assert article.authors == ["Ирина Петрова"]
    assert article.published_at == datetime(2026, 11, 3, 6, 15, tzinfo=UTC)
    assert article.language == language


@needs_pdf
def test_lines_from_right_to_left_are_read_in_their_order():
    article = read(pdf([printed(ARABIC, turn=in_places)], from_right=True))
    assert article.title == ARABIC[0]
    assert article.text.split("\n") == list(ARABIC[1:])
    assert article.language == "ar"


@needs_pdf
def test_headers_and_page_numbers_are_left_out_and_paragraphs_continue_on_the_next_page():
    pages = [
        [
            (9.0, "Amtsblatt Nr. 44"),
            (0.0, ""),
            *printed((GERMAN[0], GERMAN[1], "Der Ausschuss will die"), footer="Seite 1"),
        ],
        [
            (9.0, "Amtsblatt Nr. 44"),
            (0.0, ""),
            (11.0, "alte Trasse erneut prüfen lassen."),
            (0.0, ""),
            (0.0, ""),
            (9.0, "Seite 2"),
        ],
        [
            (9.0, "Amtsblatt Nr. 44"),
            (0.0, ""),
            *((11.0, line) for line in wrapped(GERMAN[3])),
            (0.0, ""),
            (0.0, ""),
            (9.0, "Seite 3"),
        ],
    ]
    article = read(pdf(pages))
    assert article.title == GERMAN[0]
    assert article.text.split("\n") == [
        GERMAN[1],
        "Der Ausschuss will die alte Trasse erneut prüfen lassen.",
        GERMAN[3],
    ]


@needs_pdf
def test_a_divided_word_is_joined():
    lines = [(20.0, GERMAN[0][:30]), (0.0, "")]
    lines += [
        (11.0, "Die Landesregierung hat den Entwurf des neuen Naturschutz-"),
        (11.0, "gesetzes am Mittwoch beschlossen."),
    ]
    assert "neuen Naturschutzgesetzes am Mittwoch" in read(pdf([[*lines, (0.0, ""), (11.0, GERMAN[1])]])).text


@needs_pdf
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (pdf([printed(GERMAN)], encrypted=True), "encrypted"),
        (b"%PDF-1.4\n" + bytes(range(256)) * 40, "damaged"),
        (pdf([printed(GERMAN)])[:700], "damaged"),
        (pdf([[]]), "no_text"),
        # the tree of pages contains itself
        (pdf([printed(GERMAN)]).replace(b"/Kids[", b"/Kids[2 0 R "), None),
    ],
    ids=["encrypted", "noise", "cut", "scan", "cyclic"],
)
def test_a_pdf_that_cannot_be_read_has_a_reason(body, reason):
    if reason is not None:
        assert why(body) == reason
    else:
        assert read(body).title == GERMAN[0]


@needs_pdf
def test_a_pdf_that_needs_too_much_memory_or_time_is_refused(monkeypatch):
    unpacked = pdf([printed(GERMAN)], drawing=b" " * 2**29)
    assert len(unpacked) < 2**20
    assert why(unpacked) == "too_complex"
    monkeypatch.setattr(reader, "MAX_SECONDS", 1)
    assert why(pdf([printed(GERMAN)], drawing=b"0 0 m 9 9 l S " * 2_000_000)) == "too_complex"


def test_the_process_of_a_document_gets_no_secrets(monkeypatch):
    monkeypatch.setenv("MONGO_URI", "mongodb://user:secret@db")
    seen = {}
    run = subprocess.run

    def kept(command, **arguments):
        seen.update(arguments["env"])
        return run(command, **arguments)

    monkeypatch.setattr(subprocess, "run", kept)
    assert read(docx([("a3", GERMAN[0]), *(("", text) for text in GERMAN[1:])])).title == GERMAN[0]
    assert "secret" not in str(seen)


def test_a_very_large_file_is_refused_without_a_process(monkeypatch):
    monkeypatch.setattr(subprocess, "run", None)
    assert why(b"PK\x03\x04" + bytes(60 * 2**20) + b"word/document.xml") == "too_complex"


# --- Office
def test_a_docx_file_is_an_article_with_the_names_of_its_styles():
    deleted = "<w:p><w:r><w:t>Подробности </w:t></w:r>"
    deleted += "<w:del><w:r><w:delText>завтра</w:delText><w:t>x</w:t></w:r></w:del>"
    deleted += "<w:r><w:t>опубликованы на сайте ведомства.</w:t></w:r></w:p>"
    core = "<dc:title>шаблон письма</dc:title><dc:creator>Олег Сидоров;Анна Ким</dc:creator>"
    core += "<dcterms:created>2026-10-30T12:00:00Z</dcterms:created>"
    paragraphs = [
        ("", "Пресс-релиз"),
        ("a3", RUSSIAN[0]),
        ("", RUSSIAN[1]),
        ("2", "Объезд"),
        ("", RUSSIAN[2]),
    ]
    article = read(docx(paragraphs, core=core, more=deleted))
    assert article.title == RUSSIAN[0]
    assert article.text.split("\n")[-4:] == [
        RUSSIAN[1],
        "Объезд",
        RUSSIAN[2],
        "Подробности опубликованы на сайте ведомства.",
    ]
    assert article.authors == ["Олег Сидоров", "Анна Ким"]
    assert article.published_at == datetime(2026, 10, 30, 12, tzinfo=UTC)


def test_an_odt_file_is_an_article():
    content = f'<text:p text:style-name="P1">{GERMAN[0]}</text:p><text:p>{GERMAN[1]}</text:p>'
    content += f"<text:p>{GERMAN[2]}"
    content += "<text:note><text:note-body><text:p>Az. 4 K 17</text:p></text:note-body></text:note></text:p>"
    content += f"<text:list><text:list-item><text:p>{GERMAN[3]}</text:p></text:list-item></text:list>"
    meta = "<meta:initial-creator>Jörg Brandt</meta:initial-creator>"
    meta += "<meta:creation-date>2026-11-12T08:30:00</meta:creation-date>"
    article = read(odt(content, meta=meta))
    assert (article.title, article.text.split("\n")) == (GERMAN[0], list(GERMAN[1:]))
    assert article.authors == ["Jörg Brandt"]
    assert article.published_at == datetime(2026, 11, 12, 8, 30, tzinfo=UTC)
    assert article.language == "de"


def test_an_archive_that_unpacks_to_gigabytes_is_refused():
    bomb = b"<w:t>" + b"A" * (child.MAX_MEMORY // 8) + b"</w:t>"
    assert why(archive({"word/document.xml": bomb})) == "too_complex"


def test_entities_that_stand_for_gigabytes_are_refused():
    entities = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
        '<!ENTITY {} "{}">'.format(chr(98 + n), f"&{chr(97 + n)};" * 10) for n in range(9)
    )
    body = f"<office:document-content {OPEN_DOCUMENT}><office:text><text:p>&j;</text:p></office:text>"
    file = archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"{entities}]>{body}</office:document-content>",
        }
    )
    assert why(file) == "damaged"


def test_files_of_the_machine_are_not_read():
    document = (
        f'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><w:document {WORDPROCESSING}><w:body>'
    )
    document += "".join(f"<w:p><w:r><w:t>{text}&a;.</w:t></w:r></w:p>" for text in GERMAN)
    file = archive({"word/document.xml": f"{document}</w:body></w:document>"})
    assert Path("/etc/hostname").read_text().strip() not in read(file).text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (odt("<text:p>x</text:p>", encrypted=True), "encrypted"),
        (docx([("", text) for text in GERMAN])[:-300], "damaged"),
        (archive({"word/document.xml": "<w:document"}), "damaged"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le"),
            "encrypted",
        ),
    ],
)
def test_an_office_file_that_cannot_be_read_has_a_reason(body, reason):
    assert why(body) == reason


# --- text
@needs_rtf
def test_an_rtf_file_is_an_article():
    def escaped(text):
        return "".join(f"\\'{one:02x}" if one > 127 else chr(one) for one in text.encode("cp1251"))

    paragraphs = "".join(rf"{{\pard {escaped(text)}\par}}" for text in RUSSIAN)
    info = rf"{{\info{{\title {escaped(RUSSIAN[0])}}}{{\author {escaped('Ирина Петрова')}}}"
    info += r"{\creatim\yr2026\mo11\dy5\hr9\min30}}"
    article = read(rf"{{\rtf1\ansi\ansicpg1251{{\fonttbl{{\f0 Arial;}}}}{info}{paragraphs}}}".encode())
    assert (article.title, article.text.split("\n")) == (RUSSIAN[0], list(RUSSIAN[1:]))
    assert article.authors == ["Ирина Петрова"]
    assert article.published_at == datetime(2026, 11, 5, 9, 30, tzinfo=UTC)


def test_markdown_is_an_article_with_its_front_matter():
    body = f"---\ntitle: {GERMAN[0]}\nauthor: [Jörg Brandt, Eva Lind]\ndate: 2026-11-12\nlang: de\n---\n"
    body += f"# {GERMAN[0]}\n\n{GERMAN[1]}\n\n## Begründung\n\n*Die* [Behörde](https://x.test){GERMAN[2][11:]}\n\n"
    body += f"- {GERMAN[3]}\n"
    article = read(body.encode(), "text/markdown; charset=utf-8")
    assert article.title == GERMAN[0]
    assert article.text.split("\n") == [GERMAN[1], "Begründung", GERMAN[2], GERMAN[3]]
    assert article.authors == ["Jörg Brandt", "Eva Lind"]
    assert article.published_at == datetime(2026, 11, 12, tzinfo=UTC)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1251", "utf-16"])
def test_a_plain_text_is_an_article_if_it_begins_with_a_headline(encoding):
    body = "\n\n".join("\n".join(wrapped(text)) for text in RUSSIAN).encode(encoding)
    article = read(body, f"text/plain; charset={encoding}")
    assert (article.title, article.text.split("\n")) == (RUSSIAN[0], list(RUSSIAN[1:]))


@pytest.mark.parametrize(
    "text",
    [
        " ".join(GERMAN[1:]) * 4,
        "2026-11-12 08:30:00 INFO request done.\n" * 80,
        "name;amount;day;\n" + "road;17;12;\n" * 200,
        "User-agent: *\nDisallow: /private\n",
    ],
    ids=["one paragraph", "log", "table", "robots.txt"],
)
def test_other_plain_texts_are_not_articles(text):
    assert why(text.encode(), "text/plain") == "no_title"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<!DOCTYPE html><p>About %PDF-1.4 files", "text/html"),
        (b"PK\x03\x04" + bytes(400), "application/zip"),
        (b'{"title": "x"}', "text/plain"),
        (b"<rss version='2.0'/>", "text/plain"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "image/png"),
    ],
)
def test_other_files_are_not_documents(body, content_type):
    assert not READER.recognises("https://gov.example/1.pdf", content_type, body)


# --- crawls
def test_documents_that_a_feed_and_a_page_link_are_stored(site, world):
    file = docx([("a3", RUSSIAN[0]), *(("", text) for text in RUSSIAN[1:])])
    site.page(f"{HOST}/story/1", article_html(1))
    site.page(f"{HOST}/docs/release.docx", file, headers={"Content-Type": "application/octet-stream"})
    bad = {"Content-Type": "application/vnd.openxmlformats-officedocument.wordprocessingml.document"}
    site.page(f"{HOST}/docs/bad.docx", file[:-300], headers=bad)
    feed_of(site, world, f"{HOST}/docs/release.docx", f"{HOST}/docs/bad.docx", f"{HOST}/story/1")
    crawl = world.crawl()
    assert world.urls() == [f"{HOST}/docs/release.docx", f"{HOST}/story/1"]
    stored = next(one for one in world.articles() if one.url.endswith(".docx"))
    assert (stored.title, stored.text.split("\n")) == (RUSSIAN[0], list(RUSSIAN[1:]))
    assert crawl.stat("not_article/damaged") == 1
    assert "Traceback" not in crawl.err


def test_documents_that_a_page_links_are_read_and_other_files_are_not(site, world):
    paragraphs = [("a3", GERMAN[0]), *(("", text) for text in GERMAN[1:])]
    site.page(f"{HOST}/files/urteil.docx", docx(paragraphs))
    site.page(f"{HOST}/files/tabelle.xlsx", docx(paragraphs))
    links = "".join(
        f'<li><a href="/files/{name}">{GERMAN[0]}</a></li>' for name in ("urteil.docx", "tabelle.xlsx")
    )
    site.page(f"{HOST}/presse/", f"<html><body><main><ul>{links}</ul></main></body></html>")
    world.rule("news.test", f"domain: news.test\nsections: {HOST}/presse/\narticle: /files/*\n")
    world.crawl()
    assert world.urls() == [f"{HOST}/files/urteil.docx"]
    assert world.crawl("-s", "NEWSBOT_APPS=-documents").code == 0


# --- commands
def test_a_folder_is_imported_under_its_url(tmp_path):
    place, folder = Place(tmp_path), tmp_path / "files"
    (folder / "2026 \u00a7").mkdir(parents=True)
    (folder / "2026 \u00a7" / "urteil.docx").write_bytes(
        docx([("a3", GERMAN[0]), *(("", text) for text in GERMAN[1:])])
    )
    (folder / "release.txt").write_text("\n\n".join(RUSSIAN))
    (folder / "story.html").write_text(article_html(1))
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (folder / ".hidden.txt").write_text("\n\n".join(ARABIC))
    answer = place.run("articles", "import", str(folder), "--url", "https://gov.example/docs", "--json")
    assert answer.code == 0, answer.err
    [result] = answer.json
    assert (result["new"], result["no_article"], result["pages"]) == (3, 1, 4)
    with place.storage() as storage:
        urls = {one.url: one.title for one in storage.articles.newest(limit=9)}
    assert urls["https://gov.example/docs/2026%20%C2%A7/urteil.docx"] == GERMAN[0]
    assert urls["https://gov.example/docs/release.txt"] == RUSSIAN[0]
    again = place.run("articles", "import", folder.as_uri(), "--url", "https://gov.example/docs", "--json")
    assert (again.json[0]["new"], again.json[0]["unchanged"]) == (0, 3)
    without = place.run("articles", "import", str(folder))
    assert without.code == 2
    assert "--url https://example.org/" in without.err


def test_the_article_of_a_document_file_is_printed(tmp_path):
    file = tmp_path / "release.md"
    file.write_text(f"# {GERMAN[0]}\n\n" + "\n\n".join(GERMAN[1:]))
    done = Place(tmp_path).run("article", str(file))
    assert done.out == f"{GERMAN[0]}\n\n" + "\n".join(GERMAN[1:]) + "\n"
