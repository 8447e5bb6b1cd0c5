"""When an article was out at the latest, which tells who published a story first.

Pages tell when they were published: some only the day, some nothing, some the time of their last update. What
was seen was out by then, whatever its page says.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from newsbot.items import Article

_NEVER = datetime.max.replace(tzinfo=UTC)
_DAY = timedelta(days=1)


def out_by(article: Article) -> tuple[datetime, datetime, str]:
    """Return a key by which articles sort in the order of their publication, as far as it is known.

    That is the moment that the page tells, or when the page was seen if that was before or nothing is told.
    A page that names only its day came before one of the same day with an hour if it was seen before that
    hour. Of those that are equal the one that was fetched first comes first.
    """
    fetched = article.fetched_at or _NEVER
    seen = min(fetched, article.discovered_at or _NEVER)
    told = article.published_at or _NEVER
    if article.published_at is not None and article.published_precision == "day" and told < _NEVER - _DAY:
        told = max(told, min(seen, told + _DAY))
    return min(told, seen), fetched, article.canonical_url
