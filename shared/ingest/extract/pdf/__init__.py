"""PDF by pdfium: text in reading order, page by page."""

from shared.ingest.extract.pdf.document import read

__all__ = ["read"]
