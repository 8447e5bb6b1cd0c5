"""The rules of sites, as data: ``rules/<domain>.yaml``.

``load_rules(folder)`` returns the :class:`RuleSet`, ``RuleSet.for_url(url)`` the :class:`Rule` of a page, and
``classify(rule, url)`` what the rule says about the URL. docs/rules.md explains how to write a rule.

Rules in files, in reading order:

* ``schema``: the rule of one site
* ``ruleset``: all rules, and which one applies to a URL
* ``match``: what a rule says about a URL
* ``load``: loads a folder and reports all problems at once; ``reload`` does so while a crawl runs
* ``yamlfile``, ``keys``, ``values``, ``selectors``, ``regexes``: read one file: lines, keys, values
* ``hints``: warnings about rules that are probably mistakes
* ``show``: rules in readable form
* ``import_ftr``: site files of ftr-site-config as rules

Forms of URLs:

* ``shape``: how likely a URL is an article's, by the URL alone
* ``sessions``: query keys that carry a session id
* ``learn``: learns the forms of a site's article URLs, from ``examples``, ``traits`` and ``trees``
* ``induce``: readable regular expressions from example URLs
"""

from newsbot.rules.load import load_rules
from newsbot.rules.match import Match, classify
from newsbot.rules.ruleset import RuleSet
from newsbot.rules.schema import Layout, Pattern, Rule, Selector

__all__ = ["Layout", "Match", "Pattern", "Rule", "RuleSet", "Selector", "classify", "load_rules"]
