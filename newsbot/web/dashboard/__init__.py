"""The dashboard: what a crawl does and has stored, as pages for people, an API and metrics for programs."""
