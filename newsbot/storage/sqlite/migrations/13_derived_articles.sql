-- For removal: articles that are derived from an article.
CREATE INDEX article_by_basis ON article (json_extract(data, '$.derived_from'))
    WHERE json_extract(data, '$.derived_from') IS NOT NULL;
