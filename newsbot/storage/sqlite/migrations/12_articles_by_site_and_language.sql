-- The newest articles of a site in one language, without reading those in other languages.
DROP INDEX article_by_source_moment;
CREATE INDEX article_by_source_moment ON article (source, moment, language);
