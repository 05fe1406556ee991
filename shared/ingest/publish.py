"""The last step: chunks and segments are written, then one transaction makes them the ones that readers see."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from shared.domain.knowledge import DocumentStatus
from shared.domain.text import Chunk, Extraction, Outline, OutlineEntry, Passage, StoredChunk
from shared.index.publish import Publication, publish, write_segments
from shared.index.segment import IndexPassage, pack
from shared.index.terms import terms
from shared.ingest.claim import Lease
from shared.ports import AccountStore, Clock, Embedder, Summarizer, TokenCounter
from shared.records import CHUNKS, OUTLINES

if TYPE_CHECKING:
    from shared.ports import Vectors
