"""The RPCs that run queries: documents, aggregations, partitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from emulators.firestore import nearest
from emulators.firestore.aggregate import aggregate, parse_aggregations
from emulators.firestore.document import StoredDocument
from emulators.firestore.errors import invalid, unimplemented
from emulators.firestore.fields import NAME
from emulators.firestore.index_check import IndexCheck
from emulators.firestore.protos import (
    PartitionQueryResponse,
    RunAggregationQueryResponse,
    RunQueryResponse,
)
from emulators.firestore.query import Order, Query
from emulators.firestore.query_parse import parse_query
from emulators.firestore.store import Store
from emulators.firestore.times import to_timestamp
from emulators.firestore.views import View, open_view
from emulators.firestore.wire import embed

_DOCUMENT = 1


class QueryRpcs:
    def __init__(self, store: Store, indexes: IndexCheck) -> None:
        self._store = store
        self._indexes = indexes

    def run_query(self, request: Any) -> Iterator[bytes]:
        _refuse_explain(request)
        name, query = parse_query(request.parent, request.structured_query)
        self._indexes.check(query)
        site = self._store.site(name)
        with site.database.changed:
            view = open_view(site, request)
            results = list(_rendered(view, query))
        if view.begun:
            yield RunQueryResponse(transaction=view.begun).SerializeToString()
        head = RunQueryResponse(read_time=to_timestamp(view.time))
        if not results:
            yield head.SerializeToString()
            return
        plain = head.SerializeToString()
        head.skipped_results = query.offset
        yield embed(_DOCUMENT, results[0]) + head.SerializeToString()
        for wire in results[1:]:
            yield embed(_DOCUMENT, wire) + plain

    def run_aggregation_query(self, request: Any) -> Iterator[bytes]:
        _refuse_explain(request)
        structured = request.structured_aggregation_query
        name, query = parse_query(request.parent, structured.structured_query)
        items = parse_aggregations(structured.aggregations)
        self._indexes.check(query, [item.path for item in items if item.path is not None])
        site = self._store.site(name)
        with site.database.changed:
            view = open_view(site, request)
            documents = view.run(query)
            if query.nearest is not None:
                documents = [document for _, document in nearest.search(query.nearest, documents)]
            result = aggregate(items, documents)
        response = RunAggregationQueryResponse(
            result=result, read_time=to_timestamp(view.time), transaction=view.begun
        )
        yield response.SerializeToString()

    def partition_query(self, request: Any) -> bytes:
        """Cursors that split a collection group into parts of about equal numbers of documents."""
        name, query = parse_query(request.parent, request.structured_query)
        _check_partitionable(request, query)
        site = self._store.site(name)
        with site.database.changed:
            view = open_view(site, request)
            paths = [document.path for document in view.run(query)]
        count = min(request.partition_count, max(len(paths) - 1, 0))
        points = [paths[len(paths) * part // (count + 1)] for part in range(1, count + 1)]
        start = int(request.page_token) if request.page_token else 0
        size = request.page_size or len(points)
        response = PartitionQueryResponse()
        for path in points[start : start + size]:
            cursor = response.partitions.add(before=True)
            cursor.values.add(reference_value=name.document(path))
        if start + size < len(points):
            response.next_page_token = str(start + size)
        return bytes(response.SerializeToString())


def _rendered(view: View, query: Query) -> Iterator[bytes]:
    results = view.run(query)
    if query.nearest is None:
        for document in results:
            yield _projected(document, query)
        return
    for distance, document in nearest.search(query.nearest, results):
        yield nearest.with_distance(query.nearest, distance, _projected(document, query))


def _projected(document: StoredDocument, query: Query) -> bytes:
    return document.wire if query.select is None else document.masked(query.select)


def _refuse_explain(request: Any) -> None:
    if request.HasField("explain_options"):
        raise unimplemented("Query explain is not supported.")


def _check_partitionable(request: Any, query: Query) -> None:
    plain = replace(query, collection=None, parent="", all_descendants=False, explicit_orders=0, select=None)
    if request.partition_count <= 0:
        raise invalid(f"partition_count must be positive, got {request.partition_count}.")
    if not query.all_descendants or plain != Query("", None, orders=(Order(NAME),)):
        raise invalid(
            "Only a collection group query in order of __name__, without anything else, has partitions."
        )
