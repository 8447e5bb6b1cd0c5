CREATE TABLE near_scheme (scheme TEXT NOT NULL);

CREATE TABLE near_text (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,  -- increases with time and is never reused
    record BLOB NOT NULL                       -- see newsbot/dedup/index.py
);

-- A posting has six bytes: 16 bits of a hash, and the id of the text in 32 bits. The oldest text comes first.
CREATE TABLE near_bucket (
    id       INTEGER PRIMARY KEY,  -- the 16 other bits of the hash
    postings BLOB NOT NULL
);

-- The postings of a text (17 hashes of 32 bits), until they are written to all chunks of buckets.
CREATE TABLE near_recent (
    id     INTEGER PRIMARY KEY,  -- the id of the text
    hashes BLOB NOT NULL,
    met    BLOB NOT NULL         -- the hashes that another text had before
);
CREATE TABLE near_chunk (
    id   INTEGER PRIMARY KEY,  -- a group of buckets, see newsbot/dedup/sqlite.py
    upto INTEGER NOT NULL      -- the buckets have all texts up to this id
);
