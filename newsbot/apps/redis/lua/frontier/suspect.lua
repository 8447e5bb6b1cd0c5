-- suspect(now, owner) -> 1 if a lease of the owner is a suspect, else 0
-- Keys: entries, owned (2, 11, see lib.lua)

return holds_suspect(ARGV[2]) and 1 or 0
