-- The second layout was never released, so its data are deleted.
DELETE FROM near_text;
DELETE FROM near_bucket;
DELETE FROM near_scheme;

-- The postings of a text (17 hashes of 32 bits), until they are written to all chunks of buckets.
-- In near_bucket, the id is now 16 bits of the hash. The other 16 bits are in the posting.
CREATE TABLE near_recent (
    id     INTEGER PRIMARY KEY,  -- the id of the text
    hashes BLOB NOT NULL,
    met    BLOB NOT NULL         -- the hashes that another text had before
);
CREATE TABLE near_chunk (
    id   INTEGER PRIMARY KEY,  -- a group of buckets, see newsbot/dedup/sqlite.py
    upto INTEGER NOT NULL      -- the buckets have all texts up to this id
);
