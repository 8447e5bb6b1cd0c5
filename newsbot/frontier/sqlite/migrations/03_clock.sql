-- the time of the last lease; a later time than now shows that the clock was ahead
CREATE TABLE frontier_clock (latest REAL NOT NULL);
INSERT INTO frontier_clock SELECT coalesce(max(last_fetched), 0) FROM frontier_urls;
