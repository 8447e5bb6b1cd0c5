"""``scrapy demo``: crawls demo sites that are served on loopback; it needs no network."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
