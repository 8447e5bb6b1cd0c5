"""``scrapy rules``: checks, shows, creates, tests, imports and exports the rules of sites."""

from __future__ import annotations

from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand, positive

_FIXTURES = Argument(
    "--fixtures", metavar="DIR", type=Path, help="folder of saved pages (tests/sites beside the rules folder)"
)
_PATH = (
    Argument("path", metavar="PATH", type=Path),
    Argument("--into", metavar="DIR", type=Path, help="target folder, instead of the rules folder"),
)


class Command(NewsbotCommand):
    """See ``scrapy rules -h``."""

    actions = (
        Action(
            "check",
            "Report all problems of rule files, with file and line (default: the whole rules folder)",
            "newsbot.apps.authoring.command:check",
            Argument("files", nargs="*", metavar="FILE", type=Path),
        ),
        Action(
            "show",
            "Show the rule of a URL or domain, or list all rules",
            "newsbot.apps.authoring.command:show",
            Argument("target", nargs="?", metavar="URL|DOMAIN"),
            Argument("--all", action="store_true", help="for a URL: also every value that applies"),
        ),
        Action(
            "learn",
            "Print the learned patterns of a site's article URLs, with precision and recall on other links",
            "newsbot.apps.authoring.learn:learn_site",
            Argument("domain", metavar="DOMAIN"),
            Argument("--write", action="store_true", help="add the patterns to the site's rule file"),
            Argument(
                "--why", action="store_true", help="list the families of addresses, with the reason for each"
            ),
            Argument(
                "--forget", action="store_true", help="forget the families and session keys of the site"
            ),
        ),
        Action(
            "new",
            "Crawl a few articles of a site and write its rule, with comments, and one saved page",
            "newsbot.apps.authoring.new:new",
            Argument("address", metavar="ADDRESS", help="a domain, or the URL of a page, section or feed"),
            Argument("--articles", type=positive, default=30, metavar="N", help="number of articles (30)"),
            Argument("--seconds", type=positive, default=300, metavar="N", help="maximum seconds (300)"),
            Argument("--print", action="store_true", dest="print_only", help="write no files"),
            _FIXTURES,
        ),
        Action(
            "test",
            "Extract the saved pages of sites and compare the result field by field",
            "newsbot.apps.authoring.cases:test_rules",
            Argument("domains", nargs="*", metavar="DOMAIN"),
            _FIXTURES,
        ),
        Action(
            "export opml",
            "Write the feeds of all sites as OPML, with a folder for each tag, to stdout or a file",
            "newsbot.apps.export.feed:export_opml",
            Argument("-o", "--output", metavar="FILE", type=Path, help="output file, replaced at the end"),
        ),
        Action(
            "import ftr",
            "Create rules from site files of ftr-site-config (file or folder)",
            "newsbot.apps.authoring.importing:from_ftr",
            *_PATH,
        ),
        Action(
            "import opml",
            "Create short rules from the feeds of an OPML file",
            "newsbot.apps.authoring.importing:from_opml",
            *_PATH,
        ),
        Action(
            "import news-please",
            "Create short rules from a site list of news-please",
            "newsbot.apps.authoring.importing:from_news_please",
            *_PATH,
        ),
    )
