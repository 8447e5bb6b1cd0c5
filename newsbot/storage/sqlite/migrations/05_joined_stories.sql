-- Stories that were joined with another one, and the story to which they belong now. That is the story
-- itself if it has members, but its first article is not stored yet.
CREATE TABLE story_joined (
    story TEXT PRIMARY KEY,
    into_story TEXT NOT NULL  -- never another key of this table
) WITHOUT ROWID;
CREATE INDEX story_joined_into ON story_joined (into_story);
