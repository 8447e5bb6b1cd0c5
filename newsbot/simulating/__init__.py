"""What ``scrapy simulate`` does: options in, the simulator's work, words and files out."""
