-- Every URL ever seen: the crawl database.
CREATE TABLE page (
    id              INTEGER PRIMARY KEY,   -- the order in which pages are streamed
    fingerprint     BLOB NOT NULL UNIQUE,  -- the identity of a page: looked up for every link
    url             TEXT NOT NULL,
    host            TEXT NOT NULL,
    source          TEXT NOT NULL,
    kind            TEXT NOT NULL,
    state           TEXT NOT NULL,
    depth           INTEGER NOT NULL,
    first_seen      REAL NOT NULL,         -- times of pages are POSIX seconds
    last_fetched    REAL,
    last_full_fetch REAL,
    next_due        REAL,
    checks          INTEGER NOT NULL,
    changes         INTEGER NOT NULL,
    failures        INTEGER NOT NULL,
    http_status     INTEGER,
    content_type    TEXT,
    content_length  INTEGER,
    server          TEXT,
    etag            TEXT,
    last_modified   TEXT,
    content_hash    TEXT,
    links_count     INTEGER,
    referrer_count  INTEGER NOT NULL,
    referrers       TEXT NOT NULL,         -- JSON list of URLs
    referrer_bitmap BLOB NOT NULL,         -- further referrers, see newsbot/storage/pages.py
    history         TEXT NOT NULL          -- JSON list of events
);
-- Streaming the pages of one site.
CREATE INDEX page_by_source ON page (source);

CREATE TABLE article (
    id            INTEGER PRIMARY KEY,
    fingerprint   BLOB NOT NULL UNIQUE,  -- of the canonical URL: at most one article for each URL
    canonical_url TEXT NOT NULL,
    url           TEXT NOT NULL,
    source        TEXT NOT NULL,
    language      TEXT,
    story         TEXT,
    duplicate_of  TEXT,
    published_at  TEXT,                  -- times of articles are text in UTC, which sorts by time
    fetched_at    TEXT,
    moment        TEXT,                  -- time of publication, or of the fetch if that is unknown
    content_hash  TEXT NOT NULL,
    version       INTEGER NOT NULL,
    title         TEXT NOT NULL,
    data          TEXT NOT NULL,         -- JSON of the other fields
    text          TEXT NOT NULL          -- last, so that queries for other columns do not read it
);
-- Streaming and counting articles: all, or those of one site.
CREATE INDEX article_by_fetch ON article (fetched_at);
CREATE INDEX article_by_source ON article (source, fetched_at);
-- Articles of a period.
CREATE INDEX article_by_moment ON article (moment);
-- The members of a story; the newest stories and their sizes, without reading articles.
CREATE INDEX article_by_story ON article (story, moment) WHERE story IS NOT NULL;

-- Every text that an article ever had. The key ensures that two articles of a source never share a text.
CREATE TABLE article_text (
    source       TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    article      INTEGER NOT NULL,
    PRIMARY KEY (source, content_hash)
) WITHOUT ROWID;

-- Aliases: other URLs that returned the text of an article.
CREATE TABLE article_alias (
    fingerprint BLOB PRIMARY KEY,
    article     INTEGER NOT NULL,
    url         TEXT NOT NULL
) WITHOUT ROWID;

-- Earlier versions in full.
CREATE TABLE article_version (
    article  INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    document TEXT NOT NULL,  -- JSON of the columns of the article
    PRIMARY KEY (article, version)
);

-- Feeds, sitemaps and section pages.
CREATE TABLE source (
    url           TEXT PRIMARY KEY,
    source        TEXT NOT NULL,
    kind          TEXT NOT NULL,
    polls         INTEGER NOT NULL,
    unchanged     INTEGER NOT NULL,
    new_links     INTEGER NOT NULL,
    last_poll     REAL,
    last_new      REAL,
    next_due      REAL,
    failures      INTEGER NOT NULL,
    failing_since REAL,
    last_error    TEXT
);
-- The sources of one site.
CREATE INDEX source_by_source ON source (source);

CREATE TABLE site (
    source        TEXT PRIMARY KEY,
    last_article  REAL,
    last_error    TEXT,
    last_error_at REAL
);
CREATE TABLE site_counter (
    source TEXT NOT NULL,
    name   TEXT NOT NULL,
    value  REAL NOT NULL,
    PRIMARY KEY (source, name)
) WITHOUT ROWID;
