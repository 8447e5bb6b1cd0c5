-- for lease: suspects, which are leased one at a time; usually there are none
CREATE INDEX frontier_urls_suspects ON frontier_urls (host, priority DESC, due, id)
WHERE state = 'ready' AND lost > 0;

-- entries that were set aside, by the time when they were set aside
UPDATE frontier_urls SET at = 0 WHERE state = 'aside';
