"""The wire messages as plain protobuf classes: the client's proto-plus wrappers cost microseconds a field."""

from __future__ import annotations

from google.cloud.firestore_v1.types import (
    aggregation_result,
    common,
    document,
    firestore,
    query,
    write,
)
from google.protobuf.empty_pb2 import Empty
from google.protobuf.timestamp_pb2 import Timestamp

Document = document.Document.pb()
Value = document.Value.pb()
ArrayValue = document.ArrayValue.pb()
MapValue = document.MapValue.pb()

DocumentMask = common.DocumentMask.pb()
Precondition = common.Precondition.pb()
TransactionOptions = common.TransactionOptions.pb()

Write = write.Write.pb()
WriteResult = write.WriteResult.pb()
FieldTransform = write.DocumentTransform.FieldTransform.pb()
DocumentChange = write.DocumentChange.pb()
DocumentDelete = write.DocumentDelete.pb()
DocumentRemove = write.DocumentRemove.pb()

StructuredQuery = query.StructuredQuery.pb()
StructuredAggregationQuery = query.StructuredAggregationQuery.pb()
Cursor = query.Cursor.pb()
AggregationResult = aggregation_result.AggregationResult.pb()

GetDocumentRequest = firestore.GetDocumentRequest.pb()
ListDocumentsRequest = firestore.ListDocumentsRequest.pb()
ListDocumentsResponse = firestore.ListDocumentsResponse.pb()
CreateDocumentRequest = firestore.CreateDocumentRequest.pb()
UpdateDocumentRequest = firestore.UpdateDocumentRequest.pb()
DeleteDocumentRequest = firestore.DeleteDocumentRequest.pb()
BatchGetDocumentsRequest = firestore.BatchGetDocumentsRequest.pb()
BatchGetDocumentsResponse = firestore.BatchGetDocumentsResponse.pb()
BeginTransactionRequest = firestore.BeginTransactionRequest.pb()
BeginTransactionResponse = firestore.BeginTransactionResponse.pb()
CommitRequest = firestore.CommitRequest.pb()
CommitResponse = firestore.CommitResponse.pb()
RollbackRequest = firestore.RollbackRequest.pb()
RunQueryRequest = firestore.RunQueryRequest.pb()
RunQueryResponse = firestore.RunQueryResponse.pb()
RunAggregationQueryRequest = firestore.RunAggregationQueryRequest.pb()
RunAggregationQueryResponse = firestore.RunAggregationQueryResponse.pb()
PartitionQueryRequest = firestore.PartitionQueryRequest.pb()
PartitionQueryResponse = firestore.PartitionQueryResponse.pb()
ListenRequest = firestore.ListenRequest.pb()
ListenResponse = firestore.ListenResponse.pb()
TargetChange = firestore.TargetChange.pb()
ListCollectionIdsRequest = firestore.ListCollectionIdsRequest.pb()
ListCollectionIdsResponse = firestore.ListCollectionIdsResponse.pb()
BatchWriteRequest = firestore.BatchWriteRequest.pb()
BatchWriteResponse = firestore.BatchWriteResponse.pb()

__all__ = [
    "AggregationResult",
    "ArrayValue",
    "BatchGetDocumentsRequest",
    "BatchGetDocumentsResponse",
    "BatchWriteRequest",
    "BatchWriteResponse",
    "BeginTransactionRequest",
    "BeginTransactionResponse",
    "CommitRequest",
    "CommitResponse",
    "CreateDocumentRequest",
    "Cursor",
    "DeleteDocumentRequest",
    "Document",
    "DocumentChange",
    "DocumentDelete",
    "DocumentMask",
    "DocumentRemove",
    "Empty",
    "FieldTransform",
    "GetDocumentRequest",
    "ListCollectionIdsRequest",
    "ListCollectionIdsResponse",
    "ListDocumentsRequest",
    "ListDocumentsResponse",
    "ListenRequest",
    "ListenResponse",
    "MapValue",
    "PartitionQueryRequest",
    "PartitionQueryResponse",
    "Precondition",
    "RollbackRequest",
    "RunAggregationQueryRequest",
    "RunAggregationQueryResponse",
    "RunQueryRequest",
    "RunQueryResponse",
    "StructuredAggregationQuery",
    "StructuredQuery",
    "TargetChange",
    "Timestamp",
    "TransactionOptions",
    "UpdateDocumentRequest",
    "Value",
    "Write",
    "WriteResult",
]
