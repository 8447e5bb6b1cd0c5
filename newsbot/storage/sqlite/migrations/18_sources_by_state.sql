-- True if many more new links were expected, see newsbot/sites/silence.py.
ALTER TABLE source ADD COLUMN silent INTEGER NOT NULL DEFAULT 0;
-- A crawl counts sources and reads a few of them, but never reads all records.
DROP INDEX source_by_source;
CREATE INDEX source_by_site ON source (source, url);
CREATE INDEX source_by_kind ON source (source, kind, failures);
CREATE INDEX source_by_failures ON source (failures);
CREATE INDEX source_by_due ON source (next_due, failures);
CREATE INDEX silent_source ON source (source) WHERE silent;
-- Polls of sources by hour.
ALTER TABLE site_hour ADD COLUMN polls INTEGER NOT NULL DEFAULT 0;
