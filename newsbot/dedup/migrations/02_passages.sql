-- The first layout was never released, so its data are dropped.
DROP TABLE near_doc;
DROP TABLE near_band;
DELETE FROM near_scheme;

CREATE TABLE near_text (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,  -- increases with time and is never reused
    record BLOB NOT NULL                       -- see newsbot/dedup/index.py
);

-- A posting has six bytes: 16 bits of a hash, and the id of the text in 32 bits. The oldest text comes first.
CREATE TABLE near_bucket (
    id       INTEGER PRIMARY KEY,  -- 20 other bits of the hash
    postings BLOB NOT NULL
);
