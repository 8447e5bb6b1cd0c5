"""``scrapy workers``: runs several crawl workers on this machine."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
