-- Results of searches over pages. The index ensures that there is one result for each search, text and
-- page, and is used to stream the results of a search.
CREATE TABLE search_result (
    id          INTEGER PRIMARY KEY,
    search      TEXT NOT NULL,
    text        TEXT NOT NULL,
    fingerprint BLOB NOT NULL,     -- of the page
    url         TEXT NOT NULL,
    source      TEXT NOT NULL,
    regex       INTEGER NOT NULL,
    looked_at   REAL NOT NULL,
    hits        INTEGER NOT NULL,
    positions   TEXT NOT NULL      -- JSON list
);
CREATE UNIQUE INDEX search_result_by_page ON search_result (search, text, fingerprint);
