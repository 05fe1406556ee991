"""Models that run inside the process, with no key and no network."""
