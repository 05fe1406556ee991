"""One write of a commit: what it makes of a document, and under which condition it may."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from emulators.firestore import fields as field_paths
from emulators.firestore import transforms
from emulators.firestore.document import StoredDocument
from emulators.firestore.errors import already_exists, failed_precondition, invalid, not_found
from emulators.firestore.names import DatabaseName, parse_document
from emulators.firestore.protos import Document
from emulators.firestore.times import exact


@dataclass(frozen=True, slots=True)
class Effect:
    """What a write leaves behind: the document's new fields, or None when it is gone."""

    message: Any | None
    results: tuple[Any, ...] = ()


def target(write: Any) -> tuple[DatabaseName, str]:
    """The database and path of the document that a write is about."""
    operation = write.WhichOneof("operation")
    if operation == "update":
        return parse_document(write.update.name)
    if operation == "delete":
        return parse_document(write.delete)
    if operation == "transform":
        return parse_document(write.transform.document)
    raise invalid("A write must be an update, a delete or a transform.")


def check_precondition(name: str, condition: Any, current: StoredDocument | None, *, delete: bool) -> None:
    """Raises the status that the client maps: ALREADY_EXISTS, NOT_FOUND or FAILED_PRECONDITION."""
    kind = condition.WhichOneof("condition_type")
    if kind == "exists":
        if condition.exists and current is None:
            raise not_found(f"No document to {'delete' if delete else 'update'}: {name}")
        if not condition.exists and current is not None:
            raise already_exists(f"Document already exists: {name}")
    elif kind == "update_time":
        required = exact(condition.update_time, "The update time of a precondition")
        if current is None:
            raise not_found(f"No document to {'delete' if delete else 'update'}: {name}")
        if current.updated != required:
            raise failed_precondition(
                f"The stored version ({current.updated}) does not match the required base version"
                f" ({required}): {name}"
            )


def apply(
    database: DatabaseName, path: str, write: Any, current: StoredDocument | None, request_time: int
) -> Effect:
    """The effect of a write on the document's current version, precondition included."""
    operation = write.WhichOneof("operation")
    deletes = operation == "delete"
    if write.HasField("current_document"):
        check_precondition(database.document(path), write.current_document, current, delete=deletes)
    if deletes:
        return Effect(None)
    if operation == "update":
        message = _updated(write, current)
        steps = write.update_transforms
    else:
        message = _copy(current)
        steps = write.transform.field_transforms
        if not steps:
            raise invalid("A transform needs at least one field transform.")
    if len(steps) > transforms.MAX_TRANSFORMS:
        raise invalid(f"A document takes at most {transforms.MAX_TRANSFORMS} field transforms in a commit.")
    results = tuple(transforms.apply(message, step, request_time) for step in steps)
    return Effect(message, results)


def _updated(write: Any, current: StoredDocument | None) -> Any:
    if not write.HasField("update_mask"):
        message = Document()
        message.CopyFrom(write.update)
        return message
    message = _copy(current)
    paths = [field_paths.parse(path) for path in write.update_mask.field_paths]
    _check_mask(paths)
    for path in paths:
        value = field_paths.get(write.update.fields, path)
        if value is None:
            field_paths.remove(message.fields, path)
        else:
            field_paths.put(message.fields, path, value)
    return message


def _check_mask(paths: list[field_paths.FieldPath]) -> None:
    ordered = sorted(paths)
    for earlier, later in pairwise(ordered):
        if later[: len(earlier)] == earlier:
            raise invalid(
                f'The update mask holds both "{field_paths.text(earlier)}" and "{field_paths.text(later)}".'
            )
    if field_paths.NAME in paths:
        raise invalid("__name__ cannot be in an update mask.")


def _copy(current: StoredDocument | None) -> Any:
    message = Document()
    if current is not None:
        message.ParseFromString(current.body)
    return message
