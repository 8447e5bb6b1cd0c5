-- The time at which the row was added, POSIX seconds. It grows with the id, so it needs no index.
ALTER TABLE page ADD COLUMN added REAL NOT NULL DEFAULT 0;
