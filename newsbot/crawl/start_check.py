"""The checks before ``scrapy crawl`` starts."""

from __future__ import annotations

from typing import Any

from scrapy.settings import BaseSettings
from scrapy.spiderloader import get_spider_loader

from newsbot import backends
from newsbot.clock import system_clock, utc
from newsbot.config.apps import active_apps, load
from newsbot.config.check import check_parts
from newsbot.crawl.arguments import Arguments, arguments_for
from newsbot.crawl.components import NewsbotSpider
from newsbot.crawl.credentials import credentials_of
from newsbot.crawl.scope import check_scope
from newsbot.errors import ArgumentError, did_you_mean


def fill_in(settings: BaseSettings, words: list[str], spider_arguments: dict[str, Any]) -> None:
    """Add what may be left out: the spider ``news``, and the names of the arguments that are sites.

    ``newsbot crawl example.org`` means ``newsbot crawl news -a url=https://example.org/``, or, if the site
    has a rule, ``-a sites=example.org``. Both objects are changed. The words after a spider that is not one
    of newsbot's stay unchanged.
    """
    spiders = get_spider_loader(settings)
    if not words or ("." in words[0] and words[0] not in spiders.list()):
        words.insert(0, "news")
    if words[0] in spiders.list() and not issubclass(spiders.load(words[0]), NewsbotSpider):
        return
    sites = [word for word in words[1:] if "." in word or "://" in word]
    if not sites:
        return
    if given := [name for name in ("sites", "url", "urls") if name in spider_arguments]:
        raise ArgumentError(f"{sites[0]}: give sites either as words or with -a {given[0]}=…")
    words[1:] = [word for word in words[1:] if word not in sites]
    found = arguments_for(backends.open_rules(settings, needed=False), sites)
    spider_arguments |= {name: " ".join(names) for name, names in found.items()}


def check(settings: BaseSettings, words: list[str], spider_arguments: dict[str, Any]) -> None:
    """Check everything that a crawl needs: settings, arguments, rules, browser, and access to the data.

    ``words`` are the arguments of the command that are not options: the name of a spider. Raises subclasses
    of :class:`newsbot.errors.UserError`.
    """
    check_parts(settings)
    apps = active_apps(settings.get("NEWSBOT_APPS"))
    spider: Any = get_spider_loader(settings).load(words[0])
    read = getattr(spider, "read_arguments", None)
    arguments = Arguments() if read is None else read(spider_arguments, utc(system_clock()))
    rules = backends.open_rules(settings, needed=arguments.needs_rules)
    domains = check_scope(settings, rules, arguments)
    used = [rule for rule in rules if domains is None or rule.domain in domains]
    for rule in used:
        credentials_of(rule)
    # The data are opened and closed here, so that an unreachable server is reported in one line. The crawl
    # itself would print a traceback.
    if not arguments.dry_run:
        backends.open_frontier(settings).close()
        backends.open_storage(settings).close()
    for app in apps:
        for place in app.checks:
            load(place)(settings, used)


def uses_newsbot(settings: BaseSettings, words: list[str]) -> bool:
    """Return True if the spider uses the components of newsbot.

    ``words`` are the arguments of the command that are not options. The only one must be the name of a
    spider. Raises :class:`ArgumentError`.
    """
    spiders = get_spider_loader(settings)
    _check_words(words, sorted(spiders.list()))
    return issubclass(spiders.load(words[0]), NewsbotSpider)


def _check_words(words: list[str], spiders: list[str]) -> None:
    """Raise :class:`ArgumentError` unless ``words`` is the name of one spider."""
    there_is = f"(spiders: {', '.join(spiders)})"
    if not words:
        raise ArgumentError(f"name a spider {there_is}")
    if words[0] not in spiders:
        hint = did_you_mean(words[0], spiders)
        raise ArgumentError(f"'{words[0]}' is not a spider{hint} {there_is}")
    if "--json" in words:
        raise ArgumentError("has no --json; use -O -:jsonl for items, -s NEWSBOT_STATS_FILE=FILE for stats")
    if len(words) > 1:
        raise ArgumentError(f"'{words[1]}' is not expected here; give arguments as -a NAME=VALUE")
