-- The last change of each fingerprint, in the order of commits (there is one writer at a time). If a
-- fingerprint has no article, the article was removed. The id identifies this sequence of numbers.
CREATE TABLE article_sequence AS SELECT lower(hex(randomblob(8))) AS id;
CREATE TABLE article_change (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint BLOB NOT NULL UNIQUE
);
INSERT INTO article_change (fingerprint) SELECT fingerprint FROM article ORDER BY stored, id;
CREATE TRIGGER article_inserted AFTER INSERT ON article BEGIN
    DELETE FROM article_change WHERE fingerprint = new.fingerprint;
    INSERT INTO article_change (fingerprint) VALUES (new.fingerprint);
END;
CREATE TRIGGER article_deleted AFTER DELETE ON article BEGIN
    DELETE FROM article_change WHERE fingerprint = old.fingerprint;
    INSERT INTO article_change (fingerprint) VALUES (old.fingerprint);
END;
CREATE TRIGGER article_updated AFTER UPDATE OF fingerprint, version, data ON article
    WHEN old.fingerprint <> new.fingerprint OR old.version <> new.version
    OR json_extract(old.data, '$.rights') IS NOT json_extract(new.data, '$.rights')
BEGIN
    DELETE FROM article_change WHERE fingerprint IN (old.fingerprint, new.fingerprint);
    INSERT INTO article_change (fingerprint)
        SELECT old.fingerprint WHERE old.fingerprint <> new.fingerprint;
    INSERT INTO article_change (fingerprint) VALUES (new.fingerprint);
END;
-- Exports continue by number, no longer by time. If the time of an export is in the future, its clock was
-- wrong, and the export starts again. The column "stored" is no longer used, but removing it would rewrite
-- the table.
UPDATE note SET body = json_set(body, '$.cursor', (SELECT id FROM article_sequence) || '-' || (
    SELECT count(*) FROM article WHERE stored <= json_extract(body, '$.until')
    AND json_extract(body, '$.until') < CAST(strftime('%s', 'now') AS REAL)
)) WHERE kind = 'export' AND json_extract(body, '$') IS NOT NULL;
UPDATE note SET body = json_set(body, '$.pending.cursor', (SELECT id FROM article_sequence) || '-' || (
    SELECT count(*) FROM article WHERE stored <= json_extract(body, '$.pending.until')
    AND json_extract(body, '$.pending.until') < CAST(strftime('%s', 'now') AS REAL)
)) WHERE kind = 'export' AND json_extract(body, '$.pending') IS NOT NULL;
DROP INDEX article_by_stored;
