-- Never released: what the first layout held is the resemblance of some days.
DROP TABLE near_doc;
DROP TABLE near_band;
DELETE FROM near_scheme;

CREATE TABLE near_text (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,  -- grows with time and is never used twice
    record BLOB NOT NULL                       -- see newsbot/dedup/index.py
);

-- Postings of six bytes: 16 bits of a hash, 32 bits id of the text, oldest text first.
CREATE TABLE near_bucket (
    id       INTEGER PRIMARY KEY,  -- 20 further bits of the hash
    postings BLOB NOT NULL
);
