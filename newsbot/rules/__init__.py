"""Reads and applies the rules of sites, which are YAML files: ``rules/<domain>.yaml``.

``load_rules(folder)`` returns a :class:`RuleSet`. ``RuleSet.for_url(url)`` returns the :class:`Rule` of a
page. ``classify(rule, url)`` returns the kind of page that the rule gives for a URL. docs/rules.md explains
how to write a rule.

Rules in files, in reading order:

* ``schema``: the rule of one site
* ``ruleset``: finds the rule that applies to a URL
* ``match``: matches a URL against a rule
* ``load``: loads a folder and reports all problems at once; ``reload`` loads it again while a crawl runs
* ``yamlfile``, ``keys``, ``values``, ``selectors``, ``regexes``: read the YAML, keys and values of one file
* ``hints``: warns about values that are probably mistakes
* ``show``: shows rules in readable form
* ``import_ftr``: converts site files of ftr-site-config to rules

Forms of URLs:

* ``shape``: estimates by a URL alone how likely its page is an article
* ``sessions``: finds query keys that contain a session id
* ``learn``: learns the forms of a site's article URLs, with ``examples``, ``traits`` and ``trees``
* ``induce``: makes readable regular expressions from example URLs
"""

from newsbot.rules.load import load_rules
from newsbot.rules.match import Match, classify
from newsbot.rules.ruleset import RuleSet
from newsbot.rules.schema import Layout, Pattern, Rule, Selector

__all__ = ["Layout", "Match", "Pattern", "Rule", "RuleSet", "Selector", "classify", "load_rules"]
