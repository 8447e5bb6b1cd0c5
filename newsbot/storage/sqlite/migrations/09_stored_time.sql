-- When the current version was stored (POSIX seconds), for exports of new articles. Older articles: 0.
ALTER TABLE article ADD COLUMN stored REAL NOT NULL DEFAULT 0;
CREATE INDEX article_by_stored ON article (stored);
