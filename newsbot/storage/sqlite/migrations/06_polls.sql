-- The state of the polling policy for a source, JSON.
ALTER TABLE source ADD COLUMN rhythm TEXT NOT NULL DEFAULT '{}';
-- Polls of a source on a day, see newsbot/storage/sources.py.
CREATE TABLE poll_day (
    url   TEXT NOT NULL,
    day   INTEGER NOT NULL,  -- days since 1970, UTC
    polls TEXT NOT NULL,
    PRIMARY KEY (url, day)
) WITHOUT ROWID;
