"""The management API: accounts, knowledge bases, documents, records. Handlers parse, call once, translate."""
