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
