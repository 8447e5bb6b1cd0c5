-- The first search index.
DROP TABLE IF EXISTS article_search;
