"""What is known of each site, as data: ``rules/<domain>.yaml``.

``load_rules(folder)`` gives the :class:`RuleSet`; ``RuleSet.for_url(url)`` the :class:`Rule` of a page;
``classify(rule, url)`` what the rule says of it. docs/rules.md explains how to write one.

Rules in files, in reading order:

* ``schema``: the rule of one site
* ``ruleset``: all rules, and which one applies to a URL
* ``match``: what a rule says of a URL
* ``load``: loads a folder, with all problems at once; ``reload`` does so while a crawl runs
* ``yamlfile``, ``keys``, ``values``, ``selectors``, ``regexes``: read one file: lines, keys, values
* ``hints``: warnings about rules that are probably not meant
* ``show``: rules as people see them
* ``import_ftr``: site files of ftr-site-config as rules

What addresses look like:

* ``shape``: how much a URL alone looks like the address of an article
* ``sessions``: query keys that carry a session id
* ``learn``: learns what a site's article addresses look like, from ``examples``, ``traits`` and ``trees``
* ``induce``: regular expressions that a person can read, from example addresses
"""

from newsbot.rules.load import load_rules
from newsbot.rules.match import Match, classify
from newsbot.rules.ruleset import RuleSet
from newsbot.rules.schema import Layout, Pattern, Rule, Selector

__all__ = ["Layout", "Match", "Pattern", "Rule", "RuleSet", "Selector", "classify", "load_rules"]
