-- Notes of parts of newsbot, see newsbot/storage/notes.py.
CREATE TABLE note (
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    body TEXT NOT NULL,  -- JSON
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;
