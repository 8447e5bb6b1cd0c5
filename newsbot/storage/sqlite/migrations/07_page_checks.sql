-- Checks of pages, see newsbot/storage/spider_results.py.
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
