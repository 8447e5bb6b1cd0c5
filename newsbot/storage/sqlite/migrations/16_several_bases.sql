-- derived_from becomes a list. The table has its URLs, for removal.
UPDATE article
    SET data = json_set(data, '$.derived_from', json_array(json_extract(data, '$.derived_from')))
    WHERE json_extract(data, '$.derived_from') IS NOT NULL;
DROP INDEX article_by_basis;
CREATE TABLE article_basis (
    article INTEGER NOT NULL,
    url     TEXT NOT NULL,
    PRIMARY KEY (article, url)
) WITHOUT ROWID;
CREATE INDEX article_basis_by_url ON article_basis (url);
INSERT OR IGNORE INTO article_basis
    SELECT a.id, b.value FROM article a, json_each(a.data, '$.derived_from') b WHERE b.type = 'text';
CREATE TRIGGER article_basis_named AFTER INSERT ON article BEGIN
    INSERT OR IGNORE INTO article_basis
        SELECT new.id, value FROM json_each(new.data, '$.derived_from') WHERE type = 'text';
END;
CREATE TRIGGER article_basis_changed AFTER UPDATE OF data ON article
    WHEN json_extract(old.data, '$.derived_from') IS NOT json_extract(new.data, '$.derived_from')
BEGIN
    DELETE FROM article_basis WHERE article = old.id;
    INSERT OR IGNORE INTO article_basis
        SELECT new.id, value FROM json_each(new.data, '$.derived_from') WHERE type = 'text';
END;
CREATE TRIGGER article_basis_gone AFTER DELETE ON article BEGIN
    DELETE FROM article_basis WHERE article = old.id;
END;
