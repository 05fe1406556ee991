"""Frozen types and the error tree. Nothing here does I/O."""
