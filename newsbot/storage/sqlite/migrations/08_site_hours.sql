-- Counters of a site by hour, see newsbot/storage/sources.py; '' is all sites together.
CREATE TABLE site_hour (
    source        TEXT NOT NULL,
    hour          INTEGER NOT NULL,  -- hours since 1970, UTC
    fetched       INTEGER NOT NULL,
    pages         INTEGER NOT NULL,
    article_pages INTEGER NOT NULL,
    articles      INTEGER NOT NULL,
    updated       INTEGER NOT NULL,
    duplicates    INTEGER NOT NULL,
    unchanged     INTEGER NOT NULL,
    errors        INTEGER NOT NULL,
    PRIMARY KEY (source, hour)
) WITHOUT ROWID;
-- The trends of all sites over some hours.
CREATE INDEX site_hour_by_hour ON site_hour (hour);
-- The newest articles of a site, and in a language, without reading other articles.
CREATE INDEX article_by_source_moment ON article (source, moment);
CREATE INDEX article_by_language ON article (language, moment) WHERE language IS NOT NULL;
