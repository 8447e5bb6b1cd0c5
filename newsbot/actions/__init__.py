"""What the commands do: read the options of a call, let a capability do the work, print the answer.

One module for a command of :mod:`newsbot.commands`, which declares its words and options. The actions of
``scrapy rules new|test|learn|import`` are in :mod:`newsbot.authoring`.
"""
