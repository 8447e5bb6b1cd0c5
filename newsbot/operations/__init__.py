"""The actions of the ``scrapy`` commands, one file for each command.

An action is a function that reads the options, does the work and prints the result. The modules in
:mod:`newsbot.commands` declare subcommands and options. The dashboard also uses some of the functions in this
package. Apps have the actions of their own commands.

* ``add``, ``remove``, ``prune``: change data
* ``articles``: finds and shows articles
* ``families``: shows, opens and resets the families of a site's addresses
* ``explain``: explains one URL (``scrapy why``)
* ``verdict``: decides in one place whether the whole crawl works
* ``sources``: reports on sites and their sources
* ``crawl_check``: the checks before a crawl starts
* ``workers``: runs several crawl workers, and restarts those that fail
"""
