-- The search index is now a separate file (newsbot/search).
DROP TABLE IF EXISTS search_waiting;
DROP TABLE IF EXISTS search_block;
DROP TABLE IF EXISTS search_state;
DROP TABLE IF EXISTS search_removed;
