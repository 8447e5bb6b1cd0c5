"""Rules that write themselves: learned, made from a live site, imported from other projects."""
