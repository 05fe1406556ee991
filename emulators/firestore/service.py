"""The gRPC service: which handler answers which RPC, and how errors and observers meet it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol

import grpc

from emulators.firestore import protos
from emulators.firestore.errors import RpcError
from emulators.firestore.rpc_documents import DocumentRpcs
from emulators.firestore.rpc_queries import QueryRpcs

SERVICE = "google.firestore.v1.Firestore"

_LOG = logging.getLogger(__name__)

Moment = Literal["before", "after"]


class Observer(Protocol):
    def __call__(self, moment: Moment, rpc: str, request: Any) -> None:
        """Called around every RPC, in the thread that serves it; `after` is when its answer is complete."""
        ...


def handlers(
    documents: DocumentRpcs,
    queries: QueryRpcs,
    listen: Callable[[Any, Any], Iterator[Any]],
    observe: Observer,
) -> Any:
    """The generic handler for `grpc.Server.add_generic_rpc_handlers`."""
    unary = {
        "GetDocument": (documents.get_document, protos.GetDocumentRequest),
        "ListDocuments": (documents.list_documents, protos.ListDocumentsRequest),
        "CreateDocument": (documents.create_document, protos.CreateDocumentRequest),
        "UpdateDocument": (documents.update_document, protos.UpdateDocumentRequest),
        "DeleteDocument": (documents.delete_document, protos.DeleteDocumentRequest),
        "BeginTransaction": (documents.begin_transaction, protos.BeginTransactionRequest),
        "Commit": (documents.commit, protos.CommitRequest),
        "Rollback": (documents.rollback, protos.RollbackRequest),
        "BatchWrite": (documents.batch_write, protos.BatchWriteRequest),
        "ListCollectionIds": (documents.list_collection_ids, protos.ListCollectionIdsRequest),
        "PartitionQuery": (queries.partition_query, protos.PartitionQueryRequest),
    }
    streams = {
        "BatchGetDocuments": (documents.batch_get_documents, protos.BatchGetDocumentsRequest),
        "RunQuery": (queries.run_query, protos.RunQueryRequest),
        "RunAggregationQuery": (queries.run_aggregation_query, protos.RunAggregationQueryRequest),
    }
    table = {}
    for rpc, (method, message) in unary.items():
        table[rpc] = grpc.unary_unary_rpc_method_handler(
            _unary(rpc, method, observe), request_deserializer=message.FromString
        )
    for rpc, (stream, message) in streams.items():
        table[rpc] = grpc.unary_stream_rpc_method_handler(
            _stream(rpc, stream, observe), request_deserializer=message.FromString
        )
    table["Listen"] = grpc.stream_stream_rpc_method_handler(
        _stream_with_context("Listen", listen, observe), request_deserializer=protos.ListenRequest.FromString
    )
    return grpc.method_handlers_generic_handler(SERVICE, table)


def _unary(rpc: str, method: Callable[[Any], bytes], observe: Observer) -> Callable[[Any, Any], bytes]:
    def handle(request: Any, context: Any) -> bytes:
        observe("before", rpc, request)
        try:
            answer = method(request)
        except RpcError as error:
            context.abort(error.code, error.message)
        except Exception as error:  # noqa: BLE001 - the boundary: whatever it is, the client gets a status
            _fail(context, rpc, error)
        finally:
            observe("after", rpc, request)
        return answer

    return handle


def _stream(
    rpc: str, method: Callable[[Any], Iterator[bytes]], observe: Observer
) -> Callable[[Any, Any], Iterator[bytes]]:
    return _stream_with_context(rpc, lambda request, _: method(request), observe)


def _stream_with_context(
    rpc: str, method: Callable[[Any, Any], Iterator[bytes]], observe: Observer
) -> Callable[[Any, Any], Iterator[bytes]]:
    def handle(request: Any, context: Any) -> Iterator[bytes]:
        observe("before", rpc, request)
        try:
            yield from method(request, context)
        except RpcError as error:
            context.abort(error.code, error.message)
        except Exception as error:  # noqa: BLE001 - the boundary: whatever it is, the client gets a status
            _fail(context, rpc, error)
        finally:
            observe("after", rpc, request)

    return handle


def _fail(context: Any, rpc: str, error: Exception) -> None:
    _LOG.error("RPC failed", extra={"rpc": rpc}, exc_info=error)
    context.abort(grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}")
