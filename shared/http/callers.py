"""Who calls, and for whom: the headers beside `Authorization`."""

from __future__ import annotations

from flask import Request
from pydantic import BaseModel, ValidationError

from shared.domain.errors import InvalidRequestError
from shared.http.models import ActingAs, Body
from shared.tenancy.membership import ACCOUNT_HEADER

ACTING_HEADER = "X-Acting-As"

__all__ = ["ACCOUNT_HEADER", "ACTING_HEADER", "acting_as"]


def acting_as(request: Request, body: BaseModel | None) -> ActingAs | None:
    """On whose behalf: from the header, which every request can carry, or from a JSON body's `acting_as`.

    Raises `InvalidRequestError` for a header that is not such JSON, and when the two differ.
    """
    in_body = body.acting_as if isinstance(body, Body) else None
    given = request.headers.get(ACTING_HEADER)
    if given is None:
        return in_body
    try:
        in_header = ActingAs.model_validate_json(given)
    except ValidationError as error:
        raise InvalidRequestError(
            f"The header {ACTING_HEADER} is not valid.",
            fields=((ACTING_HEADER, 'must be JSON such as {"user_id": "u1", "department_ids": []}'),),
        ) from error
    if in_body not in (None, in_header):
        raise InvalidRequestError(
            "The request acts as one user in its header and as another in its body.",
            fields=(("acting_as", f"differs from {ACTING_HEADER}"),),
        )
    return in_header
