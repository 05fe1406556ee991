"""The management API on the embedded stores, for flow tests. Tasks are kept, and run when a test says so."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from flask.testing import FlaskClient
from urllib3 import encode_multipart_formdata
from werkzeug.test import TestResponse

from shared.answer.fold import fold
from shared.domain.accounts import Account, Permission, Plan
from shared.domain.ids import new_id
from shared.http.api.routes import ROUTES
from shared.http.app import HttpApp
from shared.ingest.flow import advance
from shared.ingest.tidy import tidy
from shared.library.closing import farewell
from shared.library.objects import RevisionRef
from shared.library.purge import purge
from shared.ports import AccountStore, Task
from shared.refresh.flow import refresh_document
from shared.tenancy import accounts
from tests.flows.workbench import Workbench
from tests.http_client import client_of

ALL = tuple(Permission)
WORKER = (Permission.KB_READ, Permission.KB_WRITE, Permission.RUN_CREATE)


@dataclass(frozen=True)
class Api:
    """The API as one key sees it."""

    client: FlaskClient
    token: str

    def __call__(self, method: str, path: str, body: object = None, **headers: str) -> TestResponse:
        return self.client.open(path, method=method, json=body, headers=self._headers(headers))

    def upload(
        self, path: str, data: bytes, name: str = "notes.txt", method: str = "POST", **fields: str
    ) -> TestResponse:
        # Encoded here: Flask's client leaves the temporary file open that it spools large forms to.
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        body, content_type = encode_multipart_formdata({"file": (name, data, kind), **fields})
        headers = self._headers({"Content-Type": content_type})
        return self.client.open(path, method=method, data=body, headers=headers)

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        named = {name.replace("_", "-"): value for name, value in more.items()}
        return {"Authorization": f"Bearer {self.token}", **named}


@dataclass(frozen=True)
class Tenant:
    """An account with two departments and a key for each kind of caller."""

    account: Account
    records: AccountStore
    departments: Mapping[str, str]
    admin: Api
    engineering: Api
    marketing: Api


@dataclass(frozen=True)
class Stack:
    deps: Workbench
    client: FlaskClient

    def ingest(self, tenant: Tenant, document: Mapping[str, Any], revision: int = 1) -> str:
        """What the event of the stored object does."""
        return advance(self.deps, RevisionRef(tenant.account.id, document["id"], revision))

    def run_tasks(self) -> list[str]:
        """Runs the tasks that wait, and those that they leave, but for such as are for a later time."""
        outcomes = []
        while due := self._due():
            for task in due:
                body = task.body
                if task.path == "/purge":
                    outcomes.append(purge(self.deps, str(body["account"]), str(body["receipt"])))
                    continue
                if task.path == "/farewell":
                    outcomes.append(farewell(self.deps, str(body["account"])))
                    continue
                if task.path == "/refresh":
                    who, what = str(body["account"]), str(body["document"])
                    outcomes.append(refresh_document(self.deps, who, what, int(body["window"])))
                    continue
                if task.path == "/fold":
                    outcomes.append(fold(self.deps, str(body["account"]), str(body["thread"])))
                    continue
                ref = RevisionRef(str(body["account"]), str(body["document"]), int(body["revision"]))
                outcomes.append(advance(self.deps, ref) if task.path == "/advance" else tidy(self.deps, ref))
        return outcomes

    def _due(self) -> list[Task]:
        now = self.deps.clock.time
        due = [task for task in self.deps.queue.tasks if task.at is None or task.at <= now]
        self.deps.queue.tasks = [task for task in self.deps.queue.tasks if task not in due]
        return due

    def tenant(self, plan: Plan = Plan.PRO) -> Tenant:
        account = accounts.create_account(self.deps.store, self.deps.clock, "Acme", plan)
        records = self.deps.store.of(account.id)
        departments = {
            name: accounts.create_department(records, self.deps.clock, name).id
            for name in ("engineering", "marketing")
        }
        return Tenant(
            account,
            records,
            departments,
            self.api(records, ALL, None),
            self.api(records, WORKER, [departments["engineering"]]),
            self.api(records, WORKER, [departments["marketing"]]),
        )

    def api(
        self, records: AccountStore, permissions: Sequence[Permission], departments: Sequence[str] | None
    ) -> Api:
        made = accounts.create_key(
            records,
            self.deps.clock,
            name=new_id("test"),
            permissions=permissions,
            department_ids=departments,
        )
        return Api(self.client, made.token)


def stack_on(deps: Workbench) -> Stack:
    """The clock moves a millisecond with every look, so that what comes later is later."""
    deps.clock.tick = timedelta(milliseconds=1)
    app = HttpApp(
        ROUTES,
        deps,
        authenticate=deps.authenticator,
        store=deps.store,
        clock=deps.clock,
    )
    return Stack(deps, client_of(app))


def problem(answer: TestResponse) -> tuple[int, str]:
    """Status and code of a refusal."""
    assert answer.content_type == "application/problem+json", answer.text
    assert answer.json is not None
    return answer.status_code, str(answer.json["code"])


def created(answer: TestResponse) -> dict[str, Any]:
    """The JSON of an answer that is not a refusal."""
    assert answer.status_code < 300, answer.text
    found: dict[str, Any] = answer.json or {}
    return found
