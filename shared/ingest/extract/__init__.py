"""Files into Markdown: `extract` is the one front door."""

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
