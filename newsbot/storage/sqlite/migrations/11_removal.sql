-- For removal: results of a page, aliases of an article, articles that name it as their original.
CREATE INDEX search_result_of_page ON search_result (fingerprint);
CREATE INDEX article_alias_of ON article_alias (article);
CREATE INDEX article_by_original ON article (duplicate_of) WHERE duplicate_of IS NOT NULL;
