"""What is known of each site, as data: ``rules/<domain>.yaml``.

``load_rules(folder)`` gives the :class:`RuleSet`; ``RuleSet.for_url(url)`` the :class:`Rule` of a page;
``classify(rule, url)`` what the rule says of it. docs/rules.md tells how to write one.
"""

from newsbot.rules.load import load_rules
from newsbot.rules.match import Match, classify
from newsbot.rules.ruleset import RuleSet
from newsbot.rules.schema import Layout, Pattern, Rule, Selector

__all__ = ["Layout", "Match", "Pattern", "Rule", "RuleSet", "Selector", "classify", "load_rules"]
