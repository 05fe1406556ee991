"""Redis: a real Valkey server, which speaks its protocol."""
