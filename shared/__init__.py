"""What the functions share: lower layers first, arrows one way (`tool.importlinter` in pyproject.toml)."""
