"""The one way to read from the web: `WebFetcher` in `fetcher`."""
