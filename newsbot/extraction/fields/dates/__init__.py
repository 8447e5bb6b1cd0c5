"""When an article was published and last changed.

Files in reading order:

* ``published``: the decision between the candidates
* ``candidates``: times that a page, its address and the link to it name
* ``visible``: dates in the visible text
* ``moments``: parses moments; ``forms`` has the expressions, ``calendars`` other digits and calendars
* ``relative``: "5 minutes ago", "yesterday"
* ``zones``: the time zone of a site whose pages give UTC only
"""
