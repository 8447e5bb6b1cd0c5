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
    referrer_bitmap BLOB NOT NULL,         -- further referrers, see newsbot/storage/base.py
    history         TEXT NOT NULL,         -- JSON list of events
    added           REAL NOT NULL DEFAULT 0  -- time of the insertion; it grows with the id: no index
);
-- Streaming the pages of one site.
CREATE INDEX page_by_source ON page (source);
-- Pages by due time, for a frontier that holds only pages that are due soon.
CREATE INDEX page_by_due ON page (next_due) WHERE next_due IS NOT NULL;

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
-- The newest articles of a site, and in a language, without reading other articles.
CREATE INDEX article_by_source_moment ON article (source, moment, language);
CREATE INDEX article_by_language ON article (language, moment) WHERE language IS NOT NULL;
-- For removal: articles that name an article as their original.
CREATE INDEX article_by_original ON article (duplicate_of) WHERE duplicate_of IS NOT NULL;
-- To count posts without reading articles.
CREATE INDEX article_post ON article (source, moment) WHERE json_extract(data, '$.form') IS 'post';

-- The last change of each fingerprint, in the order of commits (there is one writer at a time). If a
-- fingerprint has no article, the article was removed. The id identifies this sequence of numbers.
CREATE TABLE article_sequence AS SELECT lower(hex(randomblob(8))) AS id;
CREATE TABLE article_change (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint BLOB NOT NULL UNIQUE
);
CREATE TRIGGER article_inserted AFTER INSERT ON article BEGIN
    DELETE FROM article_change WHERE fingerprint = new.fingerprint;
    INSERT INTO article_change (fingerprint) VALUES (new.fingerprint);
END;
CREATE TRIGGER article_deleted AFTER DELETE ON article BEGIN
    DELETE FROM article_change WHERE fingerprint = old.fingerprint;
    INSERT INTO article_change (fingerprint) VALUES (old.fingerprint);
END;
CREATE TRIGGER article_updated AFTER UPDATE OF fingerprint, version, data ON article
    WHEN old.fingerprint <> new.fingerprint OR old.version <> new.version
    OR json_extract(old.data, '$.rights') IS NOT json_extract(new.data, '$.rights')
BEGIN
    DELETE FROM article_change WHERE fingerprint IN (old.fingerprint, new.fingerprint);
    INSERT INTO article_change (fingerprint)
        SELECT old.fingerprint WHERE old.fingerprint <> new.fingerprint;
    INSERT INTO article_change (fingerprint) VALUES (new.fingerprint);
END;

-- The URLs from which an article is derived, for removal.
CREATE TABLE article_basis (
    article INTEGER NOT NULL,
    url     TEXT NOT NULL,
    PRIMARY KEY (article, url)
) WITHOUT ROWID;
CREATE INDEX article_basis_by_url ON article_basis (url);
CREATE TRIGGER article_basis_named AFTER INSERT ON article BEGIN
    INSERT OR IGNORE INTO article_basis
        SELECT new.id, value FROM json_each(new.data, '$.derived_from') WHERE type = 'text';
END;
CREATE TRIGGER article_basis_changed AFTER UPDATE OF data ON article
    WHEN json_extract(old.data, '$.derived_from') IS NOT json_extract(new.data, '$.derived_from')
BEGIN
    DELETE FROM article_basis WHERE article = old.id;
    INSERT OR IGNORE INTO article_basis
        SELECT new.id, value FROM json_each(new.data, '$.derived_from') WHERE type = 'text';
END;
CREATE TRIGGER article_basis_gone AFTER DELETE ON article BEGIN
    DELETE FROM article_basis WHERE article = old.id;
END;

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
CREATE INDEX article_alias_of ON article_alias (article);

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
    last_error    TEXT,
    rhythm        TEXT NOT NULL DEFAULT '{}',  -- JSON, the state of the polling policy
    silent        INTEGER NOT NULL DEFAULT 0   -- many more new links were expected (newsbot/sites/health.py)
);
-- A crawl counts sources and reads a few of them, but never reads all records.
CREATE INDEX source_by_site ON source (source, url);
CREATE INDEX source_by_kind ON source (source, kind, failures);
CREATE INDEX source_by_failures ON source (failures);
CREATE INDEX source_by_due ON source (next_due, failures);
CREATE INDEX silent_source ON source (source) WHERE silent;

-- Polls of a source on a day, see newsbot/storage/base.py.
CREATE TABLE poll_day (
    url   TEXT NOT NULL,
    day   INTEGER NOT NULL,  -- days since 1970, UTC
    polls TEXT NOT NULL,
    PRIMARY KEY (url, day)
) WITHOUT ROWID;

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

-- Counters of a site by hour, see newsbot/storage/base.py; '' is all sites together.
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
    polls         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (source, hour)
) WITHOUT ROWID;
-- The trends of all sites over some hours.
CREATE INDEX site_hour_by_hour ON site_hour (hour);

-- Results of searches over pages. The index ensures that there is one result for each search, text and
-- page, and is used to stream the results of a search.
CREATE TABLE search_result (
    id          INTEGER PRIMARY KEY,
    search      TEXT NOT NULL,
    text        TEXT NOT NULL,
    fingerprint BLOB NOT NULL,     -- of the page
    url         TEXT NOT NULL,
    source      TEXT NOT NULL,
    regex       INTEGER NOT NULL,
    looked_at   REAL NOT NULL,
    hits        INTEGER NOT NULL,
    positions   TEXT NOT NULL      -- JSON list
);
CREATE UNIQUE INDEX search_result_by_page ON search_result (search, text, fingerprint);
-- For removal: the results of a page.
CREATE INDEX search_result_of_page ON search_result (fingerprint);

-- Notes of parts of newsbot, see newsbot/storage/notes.py.
CREATE TABLE note (
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    body TEXT NOT NULL,  -- JSON
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;

-- Stories that were joined with another story, and the story to which they belong now. A story that has
-- members belongs to itself if its first article is not stored yet.
CREATE TABLE story_joined (
    story TEXT PRIMARY KEY,
    into_story TEXT NOT NULL  -- never another key of this table
) WITHOUT ROWID;
CREATE INDEX story_joined_into ON story_joined (into_story);

-- Checks of pages, see newsbot/apps/monitor/results.py.
CREATE TABLE page_check (
    id          INTEGER PRIMARY KEY,
    fingerprint BLOB NOT NULL UNIQUE,
    url         TEXT NOT NULL,
    source      TEXT NOT NULL,
    last        REAL NOT NULL,  -- time of the last check
    checks      TEXT NOT NULL   -- JSON list, oldest first
);
-- Streaming the checked pages of a site.
CREATE INDEX page_check_by_source ON page_check (source, id);

-- Links that wait until their family is open.
CREATE TABLE waiting_link (
    fingerprint BLOB PRIMARY KEY,
    source      TEXT NOT NULL,
    family      TEXT NOT NULL,
    at          REAL NOT NULL,
    priority    REAL NOT NULL,
    body        TEXT NOT NULL
) WITHOUT ROWID;
-- for the links of a family, and to drop the oldest of them
CREATE INDEX waiting_link_by_family ON waiting_link (source, family, at);
