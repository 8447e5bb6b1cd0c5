-- Never released either.
DELETE FROM near_text;
DELETE FROM near_bucket;
DELETE FROM near_scheme;

-- The postings of a text until all chunks of buckets have theirs: 17 hashes of 32 bits.
-- near_bucket, from here on: 16 bits of the hash are its id, 16 stand in the posting.
CREATE TABLE near_recent (
    id     INTEGER PRIMARY KEY,  -- of the text
    hashes BLOB NOT NULL,
    met    BLOB NOT NULL         -- those that another text had
);
CREATE TABLE near_chunk (
    id   INTEGER PRIMARY KEY,  -- so many buckets: newsbot/dedup/sqlite.py
    upto INTEGER NOT NULL      -- its buckets have all texts up to this one
);
