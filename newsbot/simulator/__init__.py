"""Simulates visits to sites to compare polling policies without real requests (docs/simulator.md).

* ``actions``: the actions of ``scrapy simulate``; start here

A published experiment of 2005 with robots and sensors on pages:

* ``model``: generates pages, change logs, query logs and routes
* ``draws``: random numbers that depend only on their purpose
* ``page_state``: histories, state and counters for the compiled loops
* ``robots``: the loop of a robot
* ``sensors``: the loop of sensors
* ``runs``: one run of robots or sensors, and its result
* ``plan``: runs the 54 situations and 7 variants with threads
* ``experiment``: runs the plan for several seeds; tables, correlations, ranking
* ``published_figures``: compares the published figures (published.json) with ours

Polling policies on feeds, section pages and article pages:

* ``site_world``: generated worlds, and the settings of ``--world``
* ``recorded_world``: worlds from the records of the crawler
* ``visits``: the visits that a policy makes, and their cost
* ``visit_figures``: freshness, delays, losses and load of a run
* ``allocation``: formulas that distribute a budget of visits
* ``strategies``: the strategies by name
* ``strategy_choice``: reads ``--policies``: names, or files of users
* ``strategy_comparison``: figures with confidence intervals; the smallest budget for a target

For both:

* ``files``: reads and writes tables, logs and runs (Parquet and CSV)
* ``report``: writes report.html with charts by matplotlib
* ``requirements``: optional packages, compiled loops, the check of free memory
"""
