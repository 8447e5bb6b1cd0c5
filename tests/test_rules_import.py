"""``scrapy rules import``: converts the site rules of other projects."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from newsbot.apps.authoring.importing import (
    MAX_ALTERNATIVES,
    domain_of,
    import_ftr,
    read_news_please,
    read_opml,
)
from newsbot.pages.rules.load import load_rules, read_files, read_rule_file
from tests.commandline import Place

FTR = """\
# a comment
title: //h1[@class='headline']
title: //meta[@property='og:title']/@content
body: //div[@id='story']
author: substring-after(//p[@class='by'], 'By ')
author: string(//p[@class='by'])
date: //time/@datetime
strip: //aside
strip_id_or_class: newsletter
strip_image_src: /ads/
next_page_link: //a[@rel='next']/@href
single_page_link: //a[@class='print']/@href
replace_string(<b>): <i>
prune: no
tidy: no
body: //div[
nonsense
test_url: https://www.example.com/story/1
"""


def test_alternatives_strips_and_next_pages_are_imported() -> None:
    found = import_ftr("example.com.txt", FTR.encode())
    assert found.domain == "example.com"
    assert found.extract["title"] == [
        "xpath://h1[@class='headline']",
        "xpath://meta[@property='og:title']/@content",
    ]
    assert found.extract["text"] == ["xpath://div[@id='story']"]
    assert found.extract["authors"] == ["xpath://p[@class='by']"]
    assert found.extract["next_page"] == ["xpath://a[@rel='next']/@href"]
    assert found.remove == [
        "xpath://aside",
        "xpath://*[contains(@class, 'newsletter') or contains(@id, 'newsletter')]",
        "xpath://img[contains(@src, '/ads/')]",
    ]
    assert found.test_urls == ["https://www.example.com/story/1"]


def test_lines_that_cannot_be_imported_are_reported_with_their_number() -> None:
    reasons = dict(import_ftr("example.com.txt", FTR.encode()).left_out)
    assert set(reasons) == {5, 12, 13, 16, 17}
    assert "works on text" in reasons[5]
    assert reasons[12] == "single_page_link: not supported by newsbot"
    assert "bad XPath" in reasons[16]
    assert reasons[17] == "not understood: nonsense"


def test_the_written_rule_is_correct() -> None:
    text = import_ftr("example.com.txt", FTR.encode()).as_yaml()
    file = read_rule_file("example.com.yaml", text.encode())
    assert file.problems == []
    assert len(file.values["remove"]) == 3


@pytest.mark.parametrize(
    ("name", "domain"),
    [("example.com.txt", "example.com"), (".blog.example.txt", "blog.example"), ("www.a.test.txt", "a.test")],
)
def test_file_names_are_domains(name: str, domain: str) -> None:
    assert domain_of(name) == domain


@pytest.mark.parametrize("name", ["README.md", "LICENSE.txt", "a b.c.txt"])
def test_other_files_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        domain_of(name)


@given(
    st.binary(max_size=300),
    st.sampled_from(["title: ", "strip: ", "strip_id_or_class: ", "body: //", "test_url: "]),
)
@example(b"\x7f", "strip_id_or_class: ")
@example(b"https://a.test/\x9b\x07", "test_url: ")
def test_any_bytes_give_a_valid_rule_or_none(data: bytes, key: str) -> None:
    found = import_ftr("example.com.txt", key.encode() + data)
    if found.kept:
        assert read_rule_file("example.com.yaml", found.as_yaml().encode()).problems == []


def test_the_number_of_alternatives_is_limited() -> None:
    text = "".join(f"title: //h1[{number}]\n" for number in range(1, 500))
    assert len(import_ftr("example.com.txt", text.encode()).extract["title"]) == MAX_ALTERNATIVES


def test_a_folder_is_imported_and_existing_rules_are_kept(tmp_path: Path) -> None:
    place = Place(tmp_path)
    folder = tmp_path / "ftr"
    folder.mkdir()
    (folder / "example.com.txt").write_text(FTR)
    (folder / "example.org.txt").write_text(FTR)
    (folder / "empty.test.txt").write_text("tidy: no\n")
    (folder / "LICENSE.txt").write_text("public domain")
    before = (place.rules / "example.org.yaml").read_text()
    answer = place.run("rules", "import", "ftr", str(folder))
    assert answer.code == 0, answer.err
    assert "1 rule written" in answer.out
    assert "1 skipped because they exist" in answer.out
    assert "example.com.txt:12: single_page_link: not supported by newsbot" in answer.err
    assert "empty.test.txt: it contains no lines that newsbot can import" in answer.err
    assert (place.rules / "example.org.yaml").read_text() == before
    assert read_files([place.rules / "example.com.yaml"]).problems == []


def test_json_output_contains_all_omitted_lines(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (tmp_path / "example.com.txt").write_text(FTR)
    into = tmp_path / "other"
    answer = place.run(
        "rules", "import", "ftr", str(tmp_path / "example.com.txt"), "--into", str(into), "--json"
    )
    assert answer.json["written"] == ["example.com"]
    assert [row["line"] for row in answer.json["left_out"]] == [5, 12, 13, 16, 17]
    assert answer.json["files"] == [{"file": "example.com.txt", "kept": 9, "left_out": 5}]
    assert (into / "example.com.yaml").is_file()


OPML = """<?xml version="1.0"?><opml version="2.0"><body><outline text="News">
<outline type="rss" xmlUrl="https://feeds.example.net/a" htmlUrl="https://www.a.example/"/>
<outline type="rss" xmlUrl="https://a.example/b.xml" htmlUrl="https://a.example/"/>
<outline type="rss" xmlUrl="nowhere"/></outline></body></opml>"""
SITELIST = """\
{
  # a comment
  "base_urls" : [
    { "url": ["https://b.example/", "https://c.example/news"], "crawler": "RecursiveCrawler", },
    // another
    { "url": "https://d.example/rss.xml", "crawler": "RssCrawler" }
    { url: "https://e.example/" }
  ]
}
"""


def test_feeds_of_opml_become_rules_of_their_sites() -> None:
    sites = read_opml(OPML.encode())
    assert dict(sites.feeds) == {"a.example": ["https://feeds.example.net/a", "https://a.example/b.xml"]}
    assert len(sites.left_out) == 1
    assert read_rule_file("a.example.yaml", sites.as_yaml("a.example").encode()).problems == []


def test_an_opml_file_without_feeds_is_an_error() -> None:
    with pytest.raises(ValueError, match="contains no feed"):
        read_opml(b"<opml><body><outline text='News'/></body></opml>")


def test_folders_of_opml_become_tags(tmp_path: Path) -> None:
    text = """<opml><body><outline text="World &amp; Local News!"><outline title="Наука">
    <outline text="A" xmlUrl="https://a.example/rss"/></outline>
    <outline text="B" xmlUrl="https://b.example/rss"/></outline>
    <outline text="!!"><outline text="A again" xmlUrl="https://a.example/2"/></outline>
    <outline text="C" xmlUrl="https://c.example/rss"/></body></opml>"""
    file = tmp_path / "feeds.opml"
    file.write_text(text)
    into = tmp_path / "into"
    answer = Place(tmp_path).run("rules", "import", "opml", str(file), "--into", str(into))
    assert "3 rules written" in answer.out
    assert "4 items imported, 0 left out" in answer.out
    tags = {rule.domain: rule.tags for rule in load_rules(into)}
    assert tags == {
        "a.example": ("world-local-news", "наука"),
        "b.example": ("world-local-news",),
        "c.example": (),
    }


def test_a_folder_without_site_files_is_reported_in_one_line(tmp_path: Path) -> None:
    answer = Place(tmp_path).run("rules", "import", "ftr", str(tmp_path))
    assert answer.code == 2
    assert answer.err == f"scrapy rules: {tmp_path}: contains no site file (example.org.txt)\n"


def test_a_tag_is_a_short_lower_case_word() -> None:
    for tag in ("Politics", "two words", "x" * 41, ""):
        [problem] = read_rule_file("a.test.yaml", f"domain: a.test\ntags: ['{tag}']\n".encode()).problems
        assert (problem.line, problem.key) == (2, "tags")


@pytest.mark.parametrize(
    ("attributes", "domain", "feed"),
    [
        ('xmlUrl="https://a.example/rss" htmlUrl="www.b.example/news"', "b.example", "https://a.example/rss"),
        ('xmlUrl="https://a.example/rss" htmlUrl="no home page"', "a.example", "https://a.example/rss"),
        ('xmlUrl="https://a.example/rss" htmlUrl="/"', "a.example", "https://a.example/rss"),
        ('xmlUrl="feed://a.example/rss"', "a.example", "http://a.example/rss"),
        ('xmlUrl="feed:https://a.example/rss"', "a.example", "https://a.example/rss"),
    ],
)
def test_other_attributes_do_not_affect_a_valid_feed(attributes: str, domain: str, feed: str) -> None:
    sites = read_opml(f"<opml><body><outline {attributes}/></body></opml>".encode())
    assert (dict(sites.feeds), sites.left_out) == ({domain: [feed]}, [])


def test_the_file_of_a_domain_has_precedence_over_files_of_its_subdomains(tmp_path: Path) -> None:
    place = Place(tmp_path)
    folder = tmp_path / "site_config"
    folder.mkdir()
    for name in (".site.example", "site.example", "www.site.example", ".b.example"):
        (folder / f"{name}.txt").write_text(f"body: //div[@id='of-{name}']\n")
    answer = place.run("rules", "import", "ftr", str(folder))
    assert "of-site.example" in (place.rules / "site.example.yaml").read_text()
    assert (place.rules / "b.example.yaml").exists()
    messages = [line for line in answer.err.splitlines() if "site.example.txt already gives the rule" in line]
    assert [line.partition(":")[0] for line in messages] == ["www.site.example.txt", ".site.example.txt"]
    assert "2 rules written" in answer.out
    assert "0 skipped because they exist" in answer.out


def test_site_lists_of_news_please_are_read() -> None:
    sites = read_news_please(SITELIST.encode())
    assert sites.domains == ["b.example", "c.example", "d.example", "e.example"]
    assert sites.seeds["c.example"] == ["https://c.example/news"]
    assert sites.feeds["d.example"] == ["https://d.example/rss.xml"]


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("opml", "<html/>", "is not OPML"),
        ("opml", "<opml>", "not well-formed OPML"),
        ("opml", '<!DOCTYPE x [<!ENTITY a "b">]><opml>&a;</opml>', "not well-formed OPML"),
        ("news-please", "{}", "no 'base_urls'"),
        ("news-please", "[" * 100_000, "no 'base_urls'"),
    ],
)
def test_invalid_lists_are_reported_in_one_line(tmp_path: Path, kind: str, text: str, message: str) -> None:
    place = Place(tmp_path)
    file = tmp_path / "list"
    file.write_text(text)
    answer = place.run("rules", "import", kind, str(file))
    assert answer.code == 2
    assert message in answer.err
    assert len(answer.err.splitlines()) == 1
    missing = place.run("rules", "import", kind, str(tmp_path / "missing"))
    assert "cannot be read" in missing.err
