-- lease: suspects, which go out one at a time; mostly there are none
CREATE INDEX frontier_urls_suspects ON frontier_urls (host, priority DESC, due, id)
WHERE state = 'ready' AND lost > 0;

-- what was set aside is listed by its time
UPDATE frontier_urls SET at = 0 WHERE state = 'aside';
