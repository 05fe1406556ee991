"""Files into Markdown: `extract` is the one front door.

What is decided once for all files:

- The type is told from the bytes. ZIP containers are checked before they are opened; one with a document
  type declaration, names outside itself or a huge expansion is refused.
- PDF: pages are cited; running heads and page numbers come once; form values follow their page; attachments
  and comments are left out. A page that is a picture with a stamp counts as a page without text, a blank one
  is only counted. Dynamic XFA forms, which hold no pages, are refused.
- DOCX: tracked changes as if accepted; hidden text, comments and pictures left out; headers and footers once,
  at the end. Strict OOXML and documents with macros are accepted; macros are never looked at.
- XLSX: hidden sheets are left out and named in the coverage, hidden rows and columns stay; values as shown,
  dates in ISO form; a formula stands where no result is stored. `.xlsm` and strict OOXML are accepted.
- HTML: the main content; what is hidden is left out, and noted where it was disguised.
- Text has no control characters and no invisible ones; removing the latter is noted.
"""

from __future__ import annotations

from shared.domain.errors import EmptyFileError, TooLargeError
from shared.domain.text import Extraction
from shared.ingest.extract.limits import MAX_FILE_BYTES, Limits
from shared.ingest.extract.serialize import dump_extraction, load_extraction

__all__ = ["dump_extraction", "extract", "load_extraction"]


def extract(
    data: bytes, *, name_hint: str = "", type_hint: str = "", limits: Limits | None = None
) -> Extraction:
    """The text of a file as Markdown, made in a child process with limits of time, memory and output.

    The type is told from the bytes; a file name and a content type only help where bytes cannot tell, as
    between Markdown and plain text. Raises a `RefusedFileError` that says why the file cannot become a
    document, or `TransientError` when the system could not run the child.
    """
    if not data:
        raise EmptyFileError(f"{name_hint or 'The file'} has 0 bytes")
    if len(data) > MAX_FILE_BYTES:
        raise TooLargeError(
            f"{name_hint or 'The file'} has {len(data):,} bytes; the limit is {MAX_FILE_BYTES:,}"
        )
    # The child process imports this package, too, and has no use for what starts child processes.
    from shared.ingest.extract import sandbox

    return sandbox.run(data, name_hint=name_hint, type_hint=type_hint, limits=limits or Limits())
