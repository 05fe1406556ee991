from tests.emulated import storage_url

__all__ = ["storage_url"]
