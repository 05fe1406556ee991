"""Every route of the `api` function."""

from __future__ import annotations

from shared.http.api import (
    account,
    documents,
    knowledge_bases,
    media,
    members,
    meta,
    readings,
    receipts,
    records,
    usage,
)
from shared.http.health import HEALTH
from shared.http.routes import AnyRoute

ROUTES: tuple[AnyRoute, ...] = (
    HEALTH,
    *meta.ROUTES,
    *account.ROUTES,
    *members.ROUTES,
    *knowledge_bases.ROUTES,
    *documents.ROUTES,
    *readings.ROUTES,
    *records.ROUTES,
    *receipts.ROUTES,
    *usage.ROUTES,
    *media.ROUTES,
)
