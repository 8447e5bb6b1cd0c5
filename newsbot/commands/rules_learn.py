"""``scrapy rules learn``."""

from __future__ import annotations

from newsbot.authoring.learned import as_lines, examples_of, judge_learning
from newsbot.authoring.writing import add_key, rule_path
from newsbot.backends import open_rules, rules_folder
from newsbot.cli.command import Call
from newsbot.errors import ArgumentError
from newsbot.operations.reading import stored
from newsbot.rules.examples import MIN_EXAMPLES
from newsbot.sites.statistics import percent


def learn(call: Call) -> int:
    """Print what was learned of a site's article addresses, or write it into the site's rule file."""
    path = rule_path(rules_folder(call.settings), call.options.domain)
    rule = open_rules(call.settings).for_url(f"https://{path.stem}/")
    with stored(call.settings) as storage:
        labelled = examples_of(storage, rule.domain)
    articles = sum(label for _, label in labelled)
    others = len(labelled) - articles
    if min(articles, others) < MIN_EXAMPLES:
        raise ArgumentError(
            f"{rule.domain}: {articles} addresses of articles and {others} of other pages are known, "
            f"{MIN_EXAMPLES} of each are needed; crawl the site first: "
            f"scrapy crawl news -a url=https://{rule.domain}/"
        )
    learned = judge_learning(labelled)
    if call.json:
        call.document({"domain": rule.domain, **learned.plain()})
    else:
        call.text(f"# learned from {articles} articles and {others} other pages")
        for name, score in (("the crawler's judgement", learned.whole), ("these patterns", learned.patterns)):
            call.text(
                f"# on links held out, {name}: precision {percent(score.precision)}, "
                f"recall {percent(score.recall)}"
            )
        call.text("\n".join(as_lines(learned)) if learned.rule.patterns else "# no pattern is good enough")
    if call.options.write:
        if not learned.rule.patterns:
            raise ArgumentError(f"{rule.domain}: no pattern is good enough to be written")
        add_key(path, rule.domain, "article", as_lines(learned))
        call.note(f"written to {path}")
    return 0
