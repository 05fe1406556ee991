"""What segments cost: `python -m tests.bench.segments [--passages 10000] [--language english|chinese]`.

For made-up English and Chinese, through the product's own path (terms, pack, publish, merge, cache) and the
real Firestore client against an embedded Firestore in another process, so that CPU seconds are the client's:

- a cold load of the index of ten large documents, and of as many one-passage documents as there are passages,
  after the merging that follows every publication and after the sweep's;
- beside it the same vectors as an array field, one record a chunk;
- a warm question: reads, and the time to score against a bare numpy product with top-k.

Prints one JSON object last.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import numpy.typing as npt

from emulators.firestore.server import FirestoreEmulator
from shared.adapters.firestore.store import FirestoreAccountStore, FirestoreStore, connect
from shared.domain.knowledge import Document
from shared.index.cache import IndexCache, ScopeItem
from shared.index.manifest import MANIFESTS, load
from shared.index.merge import merge
from shared.index.publication import PENDING, Pending
from shared.index.publish import FOLD_LIMIT, fold, publish, write_segments
from shared.index.rows import IndexPassage
from shared.index.search import SearchScope
from shared.index.segment import pack
from shared.index.terms import query_terms, terms
from shared.records import DOCUMENTS, KNOWLEDGE_BASES
from tests.bench.corpora import chinese, english, vectors
from tests.flows.index_library import CLOCK, add_knowledge_base, claimed, new_document, publication_of

FINGERPRINT = "bench/1536"
DIMENSIONS = 1_536
LARGE_DOCUMENTS = 10
TOP = 50
ROUNDS, CALLS = 40, 5
_LANGUAGES = {"english": (english, "en"), "chinese": (chinese, "zh")}
_EVERYTHING = 1 << 34


@dataclass(frozen=True)
class Load:
    """`reads` counts records: the manifest and the segments. Times are the client's."""

    reads: int
    cpu_ms: float
    wall_ms: float
    bytes_a_passage: float


@dataclass(frozen=True)
class Corpus:
    language: str
    texts: Sequence[str]
    vectors: npt.NDArray[np.float32]
    passages: Sequence[IndexPassage]  # of no document yet


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="What segments cost.")
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--language", choices=sorted(_LANGUAGES), help="only this one")
    options = parser.parse_args(arguments)
    names = [options.language] if options.language else list(_LANGUAGES)
    with _firestore() as host:
        os.environ["FIRESTORE_EMULATOR_HOST"] = host
        results = {name: _measure(name, options.passages) for name in names}
    print(json.dumps({"passages": options.passages, "dimensions": DIMENSIONS} | results))


def _measure(language: str, count: int) -> dict[str, Any]:
    store = FirestoreStore(connect(f"bench-{language}", "(default)"))
    corpus = _corpus(language, count)
    _say(f"{language}: {count} passages, {_mean_terms(corpus):.0f} distinct terms each")

    baseline = store.of("baseline")
    _write_arrays(baseline, corpus.vectors)
    arrays = _read_arrays(baseline, count)
    _say(f"{language}: one vector a record: {arrays}")

    large = store.of("large")
    _publish_large(large, corpus)
    _merge_all(large)
    loads = {"large_documents": _cold(large, count)}
    warm = _warm(large, corpus)
    _say(f"{language}: {loads} {warm}")

    small = store.of("small")
    _publish_small(small, corpus)
    loads["one_passage_documents"] = _cold(small, count)
    _merge_all(small, allowed=1)
    loads["one_passage_documents_after_the_sweep"] = _cold(small, count)
    _say(f"{language}: {loads}")
    return {
        "distinct_terms_a_passage": round(_mean_terms(corpus), 1),
        "one_vector_a_record": arrays,
        "cold": {
            name: asdict(load) | {"cpu_times_less": round(arrays["cpu_ms"] / load.cpu_ms, 1)}
            for name, load in loads.items()
        },
        "warm": warm,
    }


# --- the corpus ----------------------------------------------------------------------------------


def _corpus(language: str, count: int) -> Corpus:
    rng = np.random.default_rng(7)
    make, code = _LANGUAGES[language]
    source = make(rng)
    texts = [next(source) for _ in range(count)]
    made = vectors(rng, count, DIMENSIONS)
    passages = [
        IndexPassage(
            passage_id=f"psg_{n:032x}",
            document_id="",
            revision=1,
            chunk_id=f"chk_{n // 5:032x}",
            ordinal=n // 5,
            start=800 * (n % 5),
            end=800 * (n % 5) + len(text),
            heading_path=("A handbook", f"Section {n // 5}"),
            pages=None,
            terms=terms(text, code),
            vector=vector,
            heading_terms=terms(f"A handbook Section {n // 5}", code),
            language=code,
        )
        for n, (text, vector) in enumerate(zip(texts, made, strict=True))
    ]
    return Corpus(language, texts, made, passages)


def _mean_terms(corpus: Corpus) -> float:
    return statistics.fmean(len(passage.terms) for passage in corpus.passages)


# --- the product's path --------------------------------------------------------------------------


def _publish_large(store: FirestoreAccountStore, corpus: Corpus) -> None:
    add_knowledge_base(store)
    size = -(-len(corpus.passages) // LARGE_DOCUMENTS)
    for n in range(LARGE_DOCUMENTS):
        document = claimed(new_document(f"doc_{n:024x}"), 1)
        store.put_many(DOCUMENTS, [document])
        passages = _of(document, corpus.passages[n * size : (n + 1) * size])
        refs = write_segments(store, pack(passages, "kb", FINGERPRINT))
        publish(store, CLOCK, publication_of(document, refs))


def _publish_small(store: FirestoreAccountStore, corpus: Corpus) -> None:
    """Fifty documents wait at a time, as when many workers finish; after each fold comes the merging."""
    add_knowledge_base(store)
    for start in range(0, len(corpus.passages), FOLD_LIMIT):
        batch = corpus.passages[start : start + FOLD_LIMIT]
        documents = [claimed(new_document(f"doc_{start + n:024x}"), 1) for n in range(len(batch))]
        segments = [pack(_of(d, [p]), "kb", FINGERPRINT) for d, p in zip(documents, batch, strict=True)]
        store.put_many(DOCUMENTS, documents)
        refs = write_segments(store, [segment for group in segments for segment in group])
        publications = [publication_of(d, [ref]) for d, ref in zip(documents, refs, strict=True)]
        store.put_many(PENDING, [Pending(p.document_id, "kb", p) for p in publications])
        if len(fold(store, CLOCK, "kb")) != len(batch):
            raise RuntimeError(f"Not all of the documents from {start} on were published")
        _merge_all(store)


def _of(document: Document, passages: Sequence[IndexPassage]) -> list[IndexPassage]:
    return [replace(passage, document_id=document.id) for passage in passages]


def _merge_all(store: FirestoreAccountStore, **options: int) -> None:
    while merge(store, "kb", **options):
        pass


# --- what is measured ----------------------------------------------------------------------------


def _cold(store: FirestoreAccountStore, count: int) -> Load:
    base = store.get_many(KNOWLEDGE_BASES, ["kb"])["kb"]
    cache = IndexCache(_EVERYTHING)
    with _stopwatch() as took:
        scope = cache.scope(store, [ScopeItem(base)])
        passages = scope.passages
    if passages != count:
        raise RuntimeError(f"{passages} passages of {count} came back")
    listed = len(load(store.get(MANIFESTS, "kb")).segments)
    reads = cache.reads.manifests + cache.reads.segments
    if reads != 1 + listed:
        raise RuntimeError(f"{reads} reads for a manifest and {listed} segments")
    return Load(reads, took["cpu_ms"], took["wall_ms"], round(cache.nbytes / count))


def _write_arrays(store: FirestoreAccountStore, made: npt.NDArray[np.float32]) -> None:
    """One record a chunk, the vector an array of doubles: what the client makes of a list of numbers."""
    collection = _raw(store)
    for start in range(0, len(made), 200):
        batch = collection._client.batch()
        for n, vector in enumerate(made[start : start + 200], start):
            batch.set(
                collection.document(f"chk_{n:032x}"), {"document_id": "doc", "embedding": vector.tolist()}
            )
        batch.commit()


def _read_arrays(store: FirestoreAccountStore, count: int) -> dict[str, float]:
    with _stopwatch() as took:
        read = [snapshot.to_dict()["embedding"] for snapshot in _raw(store).stream()]
        matrix = np.array(read, dtype=np.float32)
    if matrix.shape != (count, DIMENSIONS):
        raise RuntimeError(f"The records gave {matrix.shape}")
    return {"reads": count} | took


def _raw(store: FirestoreAccountStore) -> Any:
    return connect(store._client.project, "(default)").collection("accounts", store.account_id, "chunks")


def _warm(store: FirestoreAccountStore, corpus: Corpus) -> dict[str, float]:
    """Medians of interleaved rounds, so that a busy machine disturbs all alike. In a round each is called
    some times in a row, the first not counted: the processor's caches, and the threads with which numpy's
    BLAS waits for more work, are then its own and not those of who was before."""
    base = store.get_many(KNOWLEDGE_BASES, ["kb"])["kb"]
    cache = IndexCache(_EVERYTHING)
    scope = cache.scope(store, [ScopeItem(base)])
    before = asdict(cache.reads)
    vector = corpus.vectors[len(corpus.vectors) // 2]
    question = query_terms(corpus.texts[17][:60], scope.languages)
    times: dict[str, list[tuple[float, float]]] = {}
    for _ in range(ROUNDS):
        scope = cache.scope(store, [ScopeItem(base)])
        for name, call in _contenders(scope, corpus.vectors, vector, question).items():
            call()
            for _ in range(CALLS):
                wall, cpu = time.perf_counter(), time.process_time()
                call()
                took = (time.perf_counter() - wall, time.process_time() - cpu)
                times.setdefault(name, []).append(took)
    if asdict(cache.reads) != before:
        raise RuntimeError("A warm question read the index")
    wall = {name: statistics.median(w for w, _ in took) for name, took in times.items()}
    cpu = {name: statistics.median(c for _, c in took) for name, took in times.items()}
    return (
        {"index_reads": 0, "terms": len(question)}
        | {f"{name}_ms": round(1000 * value, 2) for name, value in wall.items()}
        | {f"{name}_cpu_ms": round(1000 * value, 2) for name, value in cpu.items()}
        | {f"{name}_times_bare": round(wall[name] / wall["bare"], 2) for name in wall}
        | {f"{name}_cpu_times_bare": round(cpu[name] / cpu["bare"], 2) for name in cpu}
    )


def _contenders(
    scope: SearchScope, matrix: npt.NDArray[np.float32], vector: npt.NDArray[np.float32], question: Any
) -> dict[str, Callable[[], object]]:
    """`cosine` does what `bare` does, and tells what it found; `cosine_and_bm25` scores words as well."""

    def bare() -> object:
        scores = matrix @ vector
        best = np.argpartition(scores, -TOP)[-TOP:]
        return best[np.argsort(-scores[best])]

    def search(words: Any) -> object:
        return scope.search(vector, words, fingerprint=FINGERPRINT, limit=TOP)

    return {"bare": bare, "cosine": lambda: search(()), "cosine_and_bm25": lambda: search(question)}


# --- the bench itself ----------------------------------------------------------------------------


@contextmanager
def _stopwatch() -> Iterator[dict[str, float]]:
    took: dict[str, float] = {}
    wall, cpu = time.perf_counter(), time.process_time()
    yield took
    took["cpu_ms"] = round(1000 * (time.process_time() - cpu), 1)
    took["wall_ms"] = round(1000 * (time.perf_counter() - wall), 1)


@contextmanager
def _firestore() -> Iterator[str]:
    """HOST:PORT of an embedded Firestore in another process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("stop")
        process.join()


def _serve(pipe: Connection) -> None:
    with FirestoreEmulator() as emulator:
        pipe.send(emulator.host)
        pipe.recv()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
