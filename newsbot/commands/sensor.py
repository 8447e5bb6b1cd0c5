"""``scrapy sensor``: reads a site's access log and reports changed pages to a newsbot."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
