"""``scrapy why URL``: shows how a URL was found, judged, fetched, stored or dropped, and when it is due."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
