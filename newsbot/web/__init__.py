"""What ``scrapy serve`` serves, on aiohttp (which Scrapy brings along)."""
