"""The simulator: compares polling policies without requests to real sites (docs/simulator.md).

* ``actions``: the actions of ``scrapy simulate``; start here

The experiment of 2005, robots and sensors on pages:

* ``model``: pages, change logs, query logs, routes, and how they are generated
* ``draws``: random numbers that depend only on what they are used for
* ``page_state``: packed histories, state and counts that the compiled loops share
* ``robots``: the loop of a robot
* ``sensors``: the loop of sensors
* ``runs``: one run of robots or sensors, and its result
* ``plan``: the 54 situations and 7 variants, run by threads
* ``experiment``: the plan for several seeds: tables, correlations, ranking
* ``published_figures``: compares the published figures (published.json) with ours

Polling policies on feeds, section pages and article pages:

* ``site_world``: generated worlds, and the settings of ``--world``
* ``recorded_world``: worlds from what the crawler recorded
* ``visits``: the visits that a policy makes, and their cost
* ``visit_figures``: freshness, delays, losses, load of a run
* ``allocation``: closed forms that share a budget of visits
* ``strategies``: the strategies by name
* ``strategy_choice``: strategies from ``--policies``, a user's file included
* ``strategy_comparison``: figures with confidence intervals; the smallest budget for a target

For both:

* ``files``: tables, logs and runs as Parquet and CSV files
* ``report``: report.html, with charts by matplotlib
* ``requirements``: optional packages, compiled loops, the check of free memory
"""
