CREATE TABLE frontier_hosts (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL UNIQUE,
    delay REAL NOT NULL DEFAULT 1.0,
    concurrency INTEGER NOT NULL DEFAULT 1,
    last_turn REAL,
    next_turn REAL NOT NULL DEFAULT 0,
    ready INTEGER NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0
);

-- for lease: hosts with ready entries and room for a lease, by turn
CREATE INDEX frontier_hosts_by_turn ON frontier_hosts (next_turn) WHERE ready > 0 AND leased < concurrency;

-- for outlook: hosts with ready entries and no room for a lease (at most as many as there are leases)
CREATE INDEX frontier_hosts_full ON frontier_hosts (next_turn) WHERE ready > 0 AND leased >= concurrency;

CREATE TABLE frontier_urls (
    id INTEGER PRIMARY KEY,
    fingerprint BLOB NOT NULL UNIQUE,
    host INTEGER NOT NULL REFERENCES frontier_hosts (id),
    state TEXT NOT NULL,
    at REAL,
    priority REAL NOT NULL,
    due REAL NOT NULL,
    kind TEXT NOT NULL,
    depth INTEGER NOT NULL,
    url TEXT NOT NULL,
    data TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    token TEXT,
    last_fetched REAL
);

-- for lease: the best entry of a host; among entries of equal priority, the entry that was due first
CREATE INDEX frontier_urls_ready ON frontier_urls (host, priority DESC, due, id) WHERE state = 'ready';

-- for lease: suspects, which are leased one at a time; usually there are none
CREATE INDEX frontier_urls_suspects ON frontier_urls (host, priority DESC, due, id)
WHERE state = 'ready' AND lost > 0;

-- states that end by themselves: due entries, delays, deadlines; with host and due, outlook need not read the
-- table
CREATE INDEX frontier_urls_at ON frontier_urls (state, at, host, due) WHERE at IS NOT NULL;

CREATE TABLE frontier_totals (
    state TEXT PRIMARY KEY,
    urls INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
INSERT INTO frontier_totals (state)
VALUES ('ready'), ('waiting'), ('held'), ('leased'), ('done'), ('aside');

-- the latest horizon up to which entries have become ready
CREATE TABLE frontier_horizon (furthest REAL NOT NULL);
INSERT INTO frontier_horizon VALUES (0);

-- the time of the last lease; a later time than now shows that the clock was ahead
CREATE TABLE frontier_clock (latest REAL NOT NULL);
INSERT INTO frontier_clock VALUES (0);

CREATE TRIGGER frontier_count_new AFTER INSERT ON frontier_urls
BEGIN
    UPDATE frontier_totals SET urls = urls + 1 WHERE state = new.state;
    UPDATE frontier_hosts SET ready = ready + 1 WHERE new.state = 'ready' AND id = new.host;
END;

CREATE TRIGGER frontier_count_move AFTER UPDATE OF state ON frontier_urls WHEN old.state <> new.state
BEGIN
    UPDATE frontier_totals SET urls = urls + CASE state WHEN new.state THEN 1 ELSE -1 END
    WHERE state IN (old.state, new.state);
    UPDATE frontier_hosts SET
        ready = ready + (new.state = 'ready') - (old.state = 'ready'),
        leased = leased + (new.state = 'leased') - (old.state = 'leased')
    WHERE id = new.host AND (new.state IN ('ready', 'leased') OR old.state IN ('ready', 'leased'));
END;
