"""What an address holds now, and whether that is news."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from shared.domain.knowledge import Document, DocumentStatus, Refresh
from shared.domain.text import Extraction
from shared.domain.web_url import parse_url
from shared.ingest.extract import extract
from shared.library.uploads import MAX_FILE_BYTES
from shared.ports import Fetched, FetchRequest
from shared.refresh.compare import mark
from shared.refresh.deps import RefreshDeps
from shared.refresh.judge import check_answer, check_content
from shared.refresh.schedule import following


@dataclass(frozen=True, slots=True)
class Reading:
    """What an address holds now. `extraction` is None when it is known to be the same as before."""

    fetched: Fetched
    sha256: str
    host: str
    extraction: Extraction | None = None
    mark: str = ""

    @property
    def filename(self) -> str:
        """A hint for the type, and for people."""
        return _filename(self.fetched)

    def taken_over(self, refresh: Refresh, revision: int) -> Refresh:
        """With this content as the one that the next one is compared with."""
        found = self.extraction
        noted = replace(self.confirmed(refresh), revision=revision)
        return noted if found is None else replace(noted, text_sha256=found.text_sha256, mark=self.mark)

    def confirmed(self, refresh: Refresh) -> Refresh:
        """With these bytes as another form of the same content. Text and mark stay those of the version that
        readers see, so that many small changes cannot add up unseen."""
        return replace(
            refresh,
            sha256=self.sha256,
            host=self.host,
            etag=self.fetched.etag,
            last_modified=self.fetched.last_modified,
        )


def baseline(document: Document) -> Refresh | None:
    """What a new content is compared with: the last one that was taken over, unless it came to nothing."""
    refresh = following(document)
    over = document.status is DocumentStatus.FAILED
    stored = refresh.revision == document.latest_revision > 0
    return refresh if stored and not over else None


def read_address(deps: RefreshDeps, document: Document) -> Reading:
    """Fetches, and extracts unless the bytes are those of the last time. Raises what is wrong with the
    answer."""
    known = baseline(document)
    sites = deps.settings.web_sites
    asked = parse_url(document.source.url or "", local_sites=sites)
    request = FetchRequest(
        str(asked),
        MAX_FILE_BYTES,
        etag=known.etag if known is not None else None,
        last_modified=known.last_modified if known is not None else None,
    )
    fetched = deps.fetcher.fetch(request)
    final = parse_url(fetched.url, local_sites=sites)
    if fetched.status == 304 and known is not None and known.sha256 is not None:
        return Reading(_with_validators(fetched, known), known.sha256, known.host or final.host)
    check_answer(fetched, asked, final, following(document).host)
    sha256 = hashlib.sha256(fetched.body).hexdigest()
    if known is not None and known.sha256 == sha256:
        return Reading(fetched, sha256, final.host)
    extraction = extract(fetched.body, name_hint=_filename(fetched), type_hint=fetched.content_type)
    check_content(fetched.body, extraction)
    return Reading(fetched, sha256, final.host, extraction, mark(extraction.markdown))


def news(document: Document, reading: Reading) -> Extraction | None:
    """The new text; None when it says what the last one said."""
    found, known = reading.extraction, baseline(document)
    if found is None or known is None:
        return found
    same = found.text_sha256 == known.text_sha256 or reading.mark == known.mark
    return None if same else found


def _with_validators(fetched: Fetched, known: Refresh) -> Fetched:
    """A 304 need not repeat what it was asked with."""
    return replace(
        fetched,
        etag=fetched.etag or known.etag,
        last_modified=fetched.last_modified or known.last_modified,
    )


def _filename(fetched: Fetched) -> str:
    """A hint for the type, and for people."""
    return PurePosixPath(fetched.url.partition("?")[0].partition("://")[2]).name[:255]
