"""Rule files: each problem has its line, all are reported at once, and valid values are stored as written."""

from __future__ import annotations

import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from newsbot.errors import RulesError
from newsbot.items import KINDS, Kind
from newsbot.pages.rules import Rule, load_rules
from newsbot.pages.rules.keys import KEYS, MAX_BYTES, read_tree
from newsbot.pages.rules.load import INTERVALS, build_rule, read_files, read_rule_file, shipped_folder, shown
from newsbot.pages.rules.rule import FIELDS, FOLLOW, RECRAWL

HEAD = "domain: example.org\n"


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name.replace('__', '.')}.yaml").write_text(text, encoding="utf-8")
    return folder


def load_one(folder: Path, text: str) -> Rule:
    (rule,) = load_rules(write(folder, example__org=text))
    return rule


def problems_of(folder: Path) -> list[str]:
    with pytest.raises(RulesError) as caught:
        load_rules(folder)
    return str(caught.value).replace(f"{folder}/", "").splitlines()


PROBLEMS = [
    # (text after "domain: example.org", line, key, part of the text)
    ("artcle: x", 2, "artcle", "unknown key (did you mean 'article'?)"),
    ("zzzz: x", 2, "zzzz", "unknown key; allowed: domain, seeds, feeds"),
    ("delay: 1\ndelay: 2", 3, "delay", "given twice; the first is on line 2"),
    ("article: {a: b}", 2, "article", "must be a list"),
    ("article:\n  - ok\n  - [x]", 4, "article", "must be a text, not a list"),
    ("article:\n  - ok\n  - 'a('", 4, "article", "missing ): a("),
    ("article: ''", 2, "article", "an empty pattern matches every URL"),
    ("section: '^/(?!a)b'", 2, "section", "look-ahead is not supported; put what must not match into a deny"),
    (f"deny: {'a' * 1001}", 2, "deny", "1001 characters; at most 1000"),
    ("article:", 2, "article", "give a value or delete the line"),
    ("feeds: example.org/rss", 2, "feeds", "did you mean 'https://example.org/rss'?"),
    ("feeds: ftp://example.org/rss", 2, "feeds", "not an absolute http(s) URL"),
    ("feeds: /rss", 2, "feeds", "write for example https://example.org/rss.xml"),
    ("sitemaps: 'https://example.org/a b'", 2, "sitemaps", "contains a space"),
    ("drop_query: [a=b]", 2, "drop_query", "not a query key"),
    ("drop_query: ['*a']", 2, "drop_query", "not a query key"),
    ("max_depth: -1", 2, "max_depth", "a whole number from 0 to 100, not '-1'"),
    ("max_depth: many", 2, "max_depth", "a whole number from 0 to 100, not 'many'"),
    ("interval: 5m", 2, "interval", "must be lines of the form 'name: value', not a text"),
    ("interval:\n  feed: 5m\n  artikle: 1d", 4, "interval.artikle", "kind of page (did you mean 'article'?)"),
    (
        "interval:\n  feed: 5 minutes",
        3,
        "interval.feed",
        "'5 minutes' is not a duration; write for example 30s",
    ),
    ("interval:\n  feed: 5:30", 3, "interval.feed", "'5:30' is not a duration"),
    ("interval:\n  feed: 4000d", 3, "interval.feed", "at most 3660 days"),
    ("recrawl:\n  feed: off", 3, "recrawl.feed", "off"),
    ("head: article", 2, "head", "unknown key: it no longer exists; newsbot sends conditional requests"),
    (
        "recrawl:\n  other: nutch",
        3,
        "recrawl.other",
        "'nutch' is not allowed: it no longer exists; use optimum",
    ),
    ("recrawl:\n  article: fixd", 3, "recrawl.article", "did you mean 'fixed'?"),
    ("delay: 2h", 2, "delay", "too long; at most 3600 seconds"),
    ("delay: .inf", 2, "delay", "not a duration"),
    ("delay: [1]", 2, "delay", "a list is not a duration"),
    ("concurrency: 0", 2, "concurrency", "from 1 to 64, not '0'"),
    ("language: Russian", 2, "language", "write for example en, ru or pt-BR"),
    ("language: no", 2, "language", "no is a truth value (true, false); put it in quotes: 'no'"),
    ("timezone: Moscow", 2, "timezone", "did you mean 'Europe/Moscow'?"),
    ("timezone: ../../etc/passwd", 2, "timezone", "not a time zone"),
    ("learn: perhaps", 2, "learn", "must be true or false, not 'perhaps'"),
    ("follow: [feeds, sitemap]", 2, "follow", "'sitemap' is not allowed (did you mean 'sitemaps'?)"),
    ("follow: everything", 2, "follow", "allowed: feeds, sitemaps, sections, links"),
    ("extract:\n  titel: h1", 3, "extract.titel", "unknown field (did you mean 'title'?)"),
    ("extract:\n  title: 'h1['", 3, "extract.title", "bad CSS selector 'h1['"),
    ("extract:\n  title:\n    - h1\n    - 'xpath://h1['", 5, "extract.title", "bad XPath '//h1['"),
    ("extract:\n  title: //h1", 3, "extract.title", "did you mean 'xpath://h1'?"),
    ("extract:\n  title: 'xpath:count(//p)'", 3, "extract.title", "gives a float"),
    ("remove: 'xpath://p[count(preceding::p) > 3]'", 2, "remove", "use preceding-sibling::"),
    ("remove: 'xpath://p[count(//p) > 3]'", 2, "remove", "or .//"),
    ("remove: 'xpath://p/@*[. = ../../p/@id]'", 2, "remove", "keep one such step"),
    ("remove: 'xpath://p[../p/@id = ../p/@class]'", 2, "remove", "keep one such step"),
    ("remove: 'p ~ p ~ p'", 2, "remove", "keep one such step"),
    ("extract:\n  title: h1::attr", 3, "extract.title", "bad CSS selector"),
    ("remove: 'p:first'", 2, "remove", "pseudo-class :first is unknown"),
    ("layouts: {valid_from: 2024-01-01}", 2, "layouts", "must be a list"),
    ("layouts:\n  - extract: {title: h1}", 3, "layouts", "needs valid_from"),
    (
        "layouts:\n  - valid_from: last week",
        3,
        "layouts.valid_from",
        "is not a day; write for example 2024-05-31",
    ),
    ("layouts:\n  - valid_from: 2024-02-30", 3, "layouts.valid_from", "is not a day"),
    (
        "layouts:\n  - valid_from: 2024-01-01\n    text: p",
        4,
        "layouts.text",
        "unknown key; allowed: valid_from",
    ),
    (
        "layouts:\n  - valid_from: 2024-01-01\n  - valid_from: 2024-01-01",
        4,
        "layouts",
        "two layouts begin on 2024-01-01",
    ),
    ("notes: [a]", 2, "notes", "must be a text, not a list"),
    ("notes: 2024-01-01", 2, "notes", "is a date; put it in quotes"),
    ("notes: &a text", 2, "", "aliases and anchors (& and *) are not allowed"),
    ("notes: *a", 2, "", "aliases and anchors"),
    ("<<: {delay: 1}", 2, "<<", "unknown key"),
    ("notes: 'open", 2, "", "bad YAML"),
    ('article: "\\d+"', 2, "", "write patterns in single quotes"),
    ("article: %a", 2, "", "put the value in single quotes"),
    ("notes: a: b", 2, "", "bad YAML: mapping values are not allowed here; put a value"),
    ("---\ndomain: other.org", 2, "", "a second document begins here"),
    ("\tdelay: 1", 2, "", "bad YAML"),
    (f"notes: {'[' * 30}", 2, "", "too deeply nested"),
    ("notes: !!python/object:os.system x", 2, "notes", "must be a text"),
    ("notes: a\x01b", 2, "", "YAML does not allow the character with code 1"),
]


@pytest.mark.parametrize(("text", "line", "key", "part"), PROBLEMS, ids=[p[0][:40] for p in PROBLEMS])
def test_a_problem_has_its_line_and_names_the_allowed_values(
    tmp_path: Path, text: str, line: int, key: str, part: str
) -> None:
    write(tmp_path, example__org=HEAD + text + "\n")
    (found,) = problems_of(tmp_path)
    assert found.startswith(f"example.org.yaml:{line}: {key}: " if key else f"example.org.yaml:{line}: ")
    assert part in found


DOMAINS = [
    ("", 1, "the file is empty; the shortest rule is one line: 'domain: example.org'"),
    ("# nothing yet\n", 1, "the file is empty"),
    ("delay: 1", 1, "domain: is missing"),
    ("\n\ndomain: example.com", 3, "domain: 'example.com' does not match the file name 'example.org.yaml'"),
    (
        "domain: https://example.org/",
        1,
        "domain: 'https://example.org/' is not a bare domain (did you mean 'example.org'?)",
    ),
    ("domain: '*.example.org'", 1, "domain: '*.example.org' is not a domain"),
    ("domain: example org", 1, "domain: 'example org' is not a domain"),
    ("- domain", 1, "must be lines of the form 'name: value', not a list"),
    ("example.org", 1, "must be lines of the form 'name: value', not a text"),
]


@pytest.mark.parametrize(("text", "line", "part"), DOMAINS)
def test_problems_of_the_domain(tmp_path: Path, text: str, line: int, part: str) -> None:
    write(tmp_path, example__org=text)
    (found,) = problems_of(tmp_path)
    assert found.startswith(f"example.org.yaml:{line}: {part}")


def test_all_problems_of_all_files_are_reported_together(tmp_path: Path) -> None:
    write(
        tmp_path,
        a__org="domain: a.org\ndelay: x\nlearn: 3\n",
        b__org="domain: b.org\nfoo: 1\n",
        c__org="domain: c.org\n",
    )
    write(tmp_path, _defaults="domain: x.org\ninterval: {feed: soon}\n")
    found = problems_of(tmp_path)
    assert [line.partition(": ")[0] for line in found] == [
        "_defaults.yaml:1",
        "_defaults.yaml:2",
        "a.org.yaml:2",
        "a.org.yaml:3",
        "b.org.yaml:2",
    ]
    assert "domain: the defaults apply to every site" in found[0]


def test_two_rules_for_one_domain(tmp_path: Path) -> None:
    for name in ("правда.рф.yaml", "xn--80aafi6cg.xn--p1ai.yaml"):
        (tmp_path / name).write_text("\ndomain: правда.рф\n", encoding="utf-8")
    (found,) = problems_of(tmp_path)
    assert found.startswith("правда.рф.yaml:2: domain: 'xn--80aafi6cg.xn--p1ai' already has a rule: ")
    assert "xn--80aafi6cg.xn--p1ai.yaml:2" in found


def test_the_setting_is_named_if_the_folder_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "none"
    with pytest.raises(RulesError, match="NEWSBOT_RULES") as caught:
        load_rules(folder)
    assert str(caught.value).count("\n") == 0
    assert str(caught.value).startswith(f"{folder}: ")


def test_an_empty_folder_or_one_that_is_not_needed_has_the_defaults_only(tmp_path: Path) -> None:
    for rules in (load_rules(tmp_path), load_rules(tmp_path / "none", needed=False)):
        assert len(rules) == 0
        assert rules.defaults.delay == load_rules(shipped_folder()).defaults.delay


def test_files_that_are_not_rules(tmp_path: Path) -> None:
    write(tmp_path, example__org=HEAD)
    (tmp_path / "README.md").write_text("not a rule")
    (tmp_path / ".hidden.yaml").write_text("not: a rule")
    (tmp_path / "folder.yaml").mkdir()
    assert len(load_rules(tmp_path)) == 1
    (tmp_path / "other.org.yml").write_text("domain: other.org")
    assert problems_of(tmp_path) == ["other.org.yml: rule files end in .yaml in lower case; rename this file"]


def test_size_limit_and_encoding(tmp_path: Path) -> None:
    (tmp_path / "example.org.yaml").write_text(HEAD + "# " + "x" * MAX_BYTES)
    assert "at most 256 kB" in problems_of(tmp_path)[0]
    (tmp_path / "example.org.yaml").write_bytes(HEAD.encode() + "notes: слово".encode("cp1251"))
    assert problems_of(tmp_path) == ["example.org.yaml:2: this is not UTF-8 text; save the file as UTF-8"]
    (tmp_path / "example.org.yaml").write_bytes(b"\xef\xbb\xbf" + HEAD.encode())
    assert len(load_rules(tmp_path)) == 1


def test_selectors_of_the_same_form_are_checked_once_and_keep_their_texts(tmp_path: Path) -> None:
    texts = ["xpath://a[. = 'x']", """xpath://a[. = 'y "']""", """xpath://a[. = "it's" or . = '"']"""]
    (tmp_path / "example.org.yaml").write_text(HEAD + yaml.safe_dump({"remove": texts}))
    [layout] = next(iter(load_rules(tmp_path))).layouts
    assert [selector.xpath for selector in layout.remove[:3]] == [
        text.removeprefix("xpath:") for text in texts
    ]
    (tmp_path / "example.org.yaml").write_text(HEAD + "remove: \"xpath://a[. = '\\x01']\"\n")
    assert len(problems_of(tmp_path)) == 1, "XML does not allow this character"


def test_rules_are_read_from_an_egg(tmp_path: Path) -> None:
    egg = tmp_path / "newsbot.egg"
    with zipfile.ZipFile(egg, "w") as archive:
        archive.writestr("newsbot/site_rules/example.org.yaml", HEAD + "delay: 7\n")
        archive.writestr("newsbot/site_rules/_defaults.yaml", "concurrency: 3\n")
    with zipfile.ZipFile(egg) as archive:
        folder = zipfile.Path(archive, "newsbot/site_rules/")
        (rule,) = load_rules(folder)
        assert (rule.domain, rule.delay, rule.concurrency) == ("example.org", 7.0, 3)
        assert rule.file.endswith("newsbot.egg/newsbot/site_rules/example.org.yaml")


def test_the_shipped_defaults_are_used_in_a_folder_without_defaults(tmp_path: Path) -> None:
    shipped = load_rules(shipped_folder()).defaults
    rules = load_rules(write(tmp_path, example__org=HEAD))
    assert shipped.deny
    assert shipped.delay == 2
    for rule in (rules.defaults, *rules):
        assert (rule.deny, rule.delay, rule.interval) == (shipped.deny, shipped.delay, shipped.interval)
    write(tmp_path, _defaults="delay: 7\n")
    (rule,) = load_rules(tmp_path)
    assert (rule.deny, rule.delay) == ((), 7)


def test_a_single_file_uses_the_defaults_of_the_first_folder_with_defaults(tmp_path: Path) -> None:
    own, project = tmp_path / "own", tmp_path / "project"
    own.mkdir()
    project.mkdir()
    path = write(own, example__org=HEAD) / "example.org.yaml"
    assert read_files([path], own, project).defaults.file == shown(shipped_folder() / "_defaults.yaml")
    write(project, _defaults="delay: 3\n")
    assert read_files([path], own, project).rules.defaults.delay == 3
    write(own, _defaults="delay: 4\n")
    assert read_files([path], own, project).rules.defaults.delay == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("interval:\n\tfeed: 5m\n", "example.org.yaml:3: bad YAML: a tab; indent with spaces"),
        (
            "article: '^/a\nsection: ^/b\n",
            "example.org.yaml:2: bad YAML: the quote that begins here is not closed",
        ),
        (
            "article:\n  - '^/a\n  - '^/b'\n",
            "example.org.yaml:3: bad YAML: the quote that begins here is not closed",
        ),
        (
            "learn: true\ndeny: [/tag/,\n  /tags/\n",
            "example.org.yaml:3: bad YAML: the bracket that begins here is not closed",
        ),
        (
            "section: *.html\n",
            "example.org.yaml:2: bad YAML: put a value that begins with * or & in single quotes",
        ),
        (
            "feeds https://a.org/feed\nlearn: true\n",
            "example.org.yaml:2: bad YAML: no colon after the first word; write name: value",
        ),
        (
            "feeds: https//a.org/feed\n",
            "example.org.yaml:2: feeds: 'https//a.org/feed' is not an address (did you mean 'https://a.org/feed'?)",
        ),
        (
            "feeds: https://a.org/feed, https://a.org/feed2\n",
            "is more than one address; write each on a line of its own, after '- '",
        ),
        (
            "sitemaps: robots.txt\n",
            "write it in full: https://example.org/robots.txt (sitemaps that robots.txt",
        ),
    ],
)
def test_errors_are_reported_at_their_place(tmp_path: Path, text: str, message: str) -> None:
    (problem,) = problems_of(write(tmp_path, example__org=HEAD + text))
    assert message in problem


def test_a_city_with_a_slightly_similar_name_is_not_suggested(tmp_path: Path) -> None:
    (problem,) = problems_of(write(tmp_path, example__org=HEAD + "timezone: Moskau\n"))
    assert "Omsk" not in problem


def test_the_shortest_rule_has_all_defaults(tmp_path: Path) -> None:
    write(tmp_path, _defaults="")
    rule = load_one(tmp_path, "domain: example.org")
    assert rule == Rule(domain="example.org", file=rule.file, interval=rule.interval)
    assert dict(rule.interval) == INTERVALS
    assert set(INTERVALS) == set(KINDS)


def test_a_single_value_is_a_list_of_one(tmp_path: Path) -> None:
    text = HEAD + "feeds: https://a.org/rss\nfollow: feeds\narticle: ^/a\nremove: p\nextract: {title: h1}\n"
    rule = load_one(tmp_path, text)
    assert rule.feeds == ("https://a.org/rss",)
    assert rule.follow == ("feeds",)
    assert [(pattern.text, pattern.line) for pattern in rule.article] == [("^/a", 4)]
    assert [selector.text for selector in rule.layouts[0].remove] == ["p"]
    assert rule.layouts[0].extract["title"][0].xpath == "descendant-or-self::h1"


def test_defaults_are_added_merged_or_replaced(tmp_path: Path) -> None:
    write(
        tmp_path,
        _defaults="""
deny: ['^/login', '^/x']
drop_query: from
interval: {feed: 1h, article: 2h}
delay: 3
extract: {title: h1, text: article}
remove: aside
article: ^/default
""",
    )
    rule = load_one(
        tmp_path,
        HEAD
        + """
deny: ^/own
drop_query: [ref, from]
interval: {feed: 5m}
extract: {title: h2}
remove: nav
article: ^/own
""",
    )
    assert [str(pattern).partition(" ")[0] for pattern in rule.deny] == ["^/own", "^/login", "^/x"]
    assert rule.deny[1].file.endswith("_defaults.yaml")
    assert rule.drop_query == ("ref", "from")
    assert (rule.interval[Kind.FEED], rule.interval[Kind.ARTICLE]) == (300, 7200)
    assert rule.interval[Kind.OTHER] == INTERVALS[Kind.OTHER]
    assert rule.delay == 3
    (layout,) = rule.layouts
    assert {name: one[0].text for name, one in layout.extract.items()} == {"title": "h2", "text": "article"}
    assert [selector.text for selector in layout.remove] == ["nav", "aside"]
    assert [pattern.text for pattern in rule.article] == ["^/own"]


def test_layouts_are_sorted_newest_first_and_the_top_level_is_last(tmp_path: Path) -> None:
    rule = load_one(
        tmp_path,
        HEAD
        + """
extract: {text: div.oldest}
layouts:
  - {valid_from: 2020-01-01, extract: {text: div.middle}}
  - {valid_from: '2024-05-01', extract: {text: div.newest}, remove: [p.ad]}
""",
    )
    assert [(layout.valid_from, layout.extract["text"][0].text) for layout in rule.layouts] == [
        (date(2024, 5, 1), "div.newest"),
        (date(2020, 1, 1), "div.middle"),
        (None, "div.oldest"),
    ]


def test_urls_may_be_outside_the_domain(tmp_path: Path) -> None:
    rule = load_one(tmp_path, HEAD + "feeds: http://feeds.example.net:8080/a?b=1&c=2\n")
    assert rule.feeds == ("http://feeds.example.net:8080/a?b=1&c=2",)


WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)
PATTERNS = st.builds(
    "^/{}/{}".format, WORDS, st.sampled_from([r"\d+", r"[^/]+$", r"\d{4}/\d\d", "(?:a|b)c?"])
)
SELECTORS = st.builds(
    "{}{}".format, st.sampled_from(["h1", "p.x", "div > b"]), st.sampled_from(["", "::text"])
)
URLS = st.builds("https://{}.org/{}?a=1".format, WORDS, WORDS)
NOTES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=50).filter(str.strip)
SECONDS = st.integers(1, 10**6)
EXTRACT = st.dictionaries(st.sampled_from(FIELDS), st.lists(SELECTORS, min_size=1, max_size=3))
SECRETS = st.sampled_from(["$NAME", "file:/etc/newsbot/secret"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "headers": st.dictionaries(st.sampled_from(["X-Key", "x-other"]), SECRETS),
    "cookies": st.one_of(SECRETS, st.dictionaries(st.sampled_from(["a", "session"]), SECRETS)),
    **dict.fromkeys(("auth", "proxy"), SECRETS),
    **{key: st.sampled_from(["Reader/1.0 (x)", "de, en;q=0.5"]) for key in ("user_agent", "accept_language")},
    **{key: st.lists(URLS, max_size=3) for key in ("seeds", "feeds", "sitemaps", "sections")},
    **{key: st.lists(PATTERNS, max_size=3) for key in ("article", "section", "deny")},
    "drop_query": st.lists(WORDS, max_size=3),
    "max_depth": st.integers(0, 100),
    "interval": st.dictionaries(st.sampled_from([kind.value for kind in KINDS]), SECONDS),
    "recrawl": st.fixed_dictionaries(
        {}, optional={kind.value: st.sampled_from(words) for kind, words in RECRAWL.items()}
    ),
    "recheck": st.lists(st.integers(1, 10**6), max_size=4, unique=True).map(sorted),
    "delay": st.integers(0, 3600),
    "concurrency": st.integers(1, 64),
    "tls": st.sampled_from(["verify", "ignore"]),
    "render": st.booleans(),
    "language": st.sampled_from(["en", "ru", "no", "pt-BR", "zh-Hant"]),
    "timezone": st.sampled_from(["UTC", "Europe/Moscow", "Asia/Tokyo"]),
    "extract": EXTRACT,
    "remove": st.lists(SELECTORS, max_size=3),
    "learn": st.booleans(),
    "follow": st.lists(st.sampled_from(FOLLOW), max_size=4),
    "layouts": st.lists(
        st.fixed_dictionaries({"valid_from": st.dates(), "extract": EXTRACT}),
        max_size=3,
        unique_by=lambda one: one["valid_from"],
    ),
    "tags": st.lists(st.sampled_from(["regional", "north-2", "область"]), max_size=3),
    "notes": NOTES,
}


def texts(value: Any) -> Any:
    """Return the text of a rule's value as it was written."""
    if isinstance(value, tuple):
        return [texts(item) for item in value]
    return getattr(value, "text", value)


def written(rule: Rule, key: str) -> Any:
    if key in ("extract", "remove"):
        top = next((layout for layout in rule.layouts if layout.valid_from is None), None)
        if top is None:
            return [] if key == "remove" else {}
        return (
            texts(top.remove) if key == "remove" else {name: texts(one) for name, one in top.extract.items()}
        )
    if key == "layouts":
        dated = [layout for layout in rule.layouts if layout.valid_from is not None]
        return [
            {
                "valid_from": layout.valid_from,
                "extract": {name: texts(one) for name, one in layout.extract.items()},
            }
            for layout in dated
        ]
    return texts(getattr(rule, key))


@settings(max_examples=60, deadline=None)
@given(st.fixed_dictionaries({}, optional=VALUES), st.booleans())
def test_loaded_values_equal_the_written_values(values: dict[str, Any], flow: bool) -> None:
    text = yaml.safe_dump({"domain": "example.org", **values}, allow_unicode=True, default_flow_style=flow)
    file = read_rule_file("example.org.yaml", text.encode())
    assert [str(problem) for problem in file.problems] == []
    rule = build_rule(file, read_rule_file("_defaults.yaml", b"", is_defaults=True))
    expected = dict(values)
    if "interval" in values:
        expected["interval"] = {**INTERVALS, **values["interval"]}
    if "layouts" in values:
        expected["layouts"] = sorted(values["layouts"], key=lambda one: one["valid_from"], reverse=True)
    assert {key: written(rule, key) for key in values} == expected
    assert set(VALUES) | {"domain"} == set(KEYS)


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(st.binary(max_size=200), st.text("ab:-[]{}'\"&*!|>%@#?, \n\t0", max_size=80).map(str.encode))
)
def test_any_bytes_can_be_read(data: bytes) -> None:
    file = read_rule_file("example.org.yaml", data)
    assert file.problems
    assert all(1 <= problem.line <= data.count(b"\n") + data.count(b"\r") + 2 for problem in file.problems)


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(st.text(max_size=8), lambda some: st.lists(some, max_size=3), max_leaves=7)
    | st.dictionaries(st.text(), st.text())
)
def test_the_fast_parser_gives_the_same_tree_as_the_slow_parser(value: object) -> None:
    def plain(node: yaml.Node | None) -> object:
        if isinstance(node, yaml.ScalarNode):
            return (node.tag, node.value, node.start_mark.line)
        if isinstance(node, yaml.SequenceNode):
            return [plain(one) for one in node.value]
        assert isinstance(node, yaml.MappingNode)
        return [(plain(key), plain(one)) for key, one in node.value]

    text = yaml.safe_dump(value, allow_unicode=True)
    assume("&" not in text)
    expected = plain(yaml.compose(text, Loader=yaml.SafeLoader))
    assert plain(read_tree(text.encode())) == expected


def test_an_abbreviation_of_a_time_zone_suggests_no_other_abbreviation(tmp_path: Path) -> None:
    (problem,) = problems_of(write(tmp_path, example__org=HEAD + "timezone: MSK\n"))
    assert problem.endswith("'MSK' is not a time zone; write for example Europe/Moscow or UTC")
