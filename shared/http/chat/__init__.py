"""The answering API. Handlers parse, call once, translate."""
