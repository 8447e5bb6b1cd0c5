"""Reads and applies the rules of sites, which are YAML files: ``rules/<domain>.yaml``.

``load_rules(folder)`` returns a :class:`RuleSet`. ``RuleSet.for_url(url)`` returns the :class:`Rule` of a
page. ``classify(rule, url)`` returns the kind of page at a URL according to the rule. docs/rules.md explains
how to write a rule.

Rules in files, in reading order:

* ``rule``: the rule of one site with its patterns and selectors, the set of all rules, and what a rule says
  about a URL
* ``load``: loads a folder and reports all problems at once; reloads it while a crawl is running;
  shows rules in readable form
* ``keys``: reads the YAML, keys and values of one file

Forms of URLs:

* ``shape``: features of a URL; the probability that a page is an article, estimated from its URL alone
* ``learn``: learns the forms of a site's article URLs from examples, with decision trees over traits; makes
  readable regular expressions from example URLs
"""

from newsbot.pages.rules.load import load_rules
from newsbot.pages.rules.rule import Layout, Match, Pattern, Rule, RuleSet, Selector, classify

__all__ = ["Layout", "Match", "Pattern", "Rule", "RuleSet", "Selector", "classify", "load_rules"]
