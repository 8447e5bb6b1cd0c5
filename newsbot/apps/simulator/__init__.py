"""Simulates visits to sites to compare polling policies without real requests (docs/simulator.md).

Files for the published experiment of 2005, with robots and sensors on pages:

* ``model``: optional packages and free memory; generates pages, change logs, query logs and routes, with
  random numbers that depend only on their purpose; the compiled loops of robots and of sensors, their data,
  and the result of one run
* ``schemes``: twelve schemes of co-operation of sites and search engines, on the same pages
* ``experiment``: runs the plan of 54 situations and 7 variants for several seeds, makes tables, and compares
  them with the published figures

Files for the comparison of polling policies on feeds, section pages and article pages:

* ``site_world``: generated worlds, the settings of ``--world``, and worlds from the records of the crawler;
  the visits that a policy makes, their cost, and figures such as freshness and delays
* ``strategies``: the strategies by name, and strategies in files of users; formulas that distribute a budget
  of visits, and the polling policies of Nutch and Miniflux; figures with confidence intervals, and the
  smallest budget for a target

Files for both:

* ``command``: the actions of ``scrapy simulate``, the run log, and its control over HTTP; ``arguments``
  declares the actions
* ``files``: reads and writes tables, logs and runs (Parquet and CSV), and writes report.html with charts by
  matplotlib
"""

from newsbot.config.apps import App

APP = App(
    name="simulator",
    package="newsbot.apps.simulator",
    commands={
        "simulate": (
            "More",
            "Simulate polling, HEAD requests and sensors: freshness and traffic, without a site",
            "newsbot.apps.simulator.arguments:ACTIONS",
        ),
    },
)
