-- To count posts without reading articles.
CREATE INDEX article_post ON article (source, moment) WHERE json_extract(data, '$.form') IS 'post';
