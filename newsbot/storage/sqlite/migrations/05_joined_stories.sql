-- Stories that were joined with another story, and the story to which they belong now. A story that has
-- members belongs to itself if its first article is not stored yet.
CREATE TABLE story_joined (
    story TEXT PRIMARY KEY,
    into_story TEXT NOT NULL  -- never another key of this table
) WITHOUT ROWID;
CREATE INDEX story_joined_into ON story_joined (into_story);
