"""The HTTP kit on a table of a few routes."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal, cast

import pytest
from flask.testing import FlaskClient
from pydantic import Field

from shared.domain.accounts import Caller, Permission, Plan
from shared.domain.errors import NotFoundError, RateLimitedError, UnauthenticatedError
from shared.http import openapi
from shared.http.app import HttpApp
from shared.http.models import Body, NoParams, PageParams, Params, Strict, View
from shared.http.routes import AnyRoute, Call, Reply, Route
from shared.logs import JsonFormatter
from shared.ports import Clock, Store
from tests.http_client import client_of

WHEN = datetime(2026, 3, 1, 12, 30, 0, 250_000, tzinfo=UTC)


class Bow(Strict):
    type: Literal["bow"]
    depth: int = Field(ge=1)


class Wave(Strict):
    type: Literal["wave"]
    wave: str = Field(max_length=3)


Gesture = Annotated[Bow | Wave, Field(discriminator="type")]


class Greeting(Body):
    name: str = Field(min_length=1)
    times: int = 1
    with_: Annotated[str, Field(max_length=5)] | tuple[Gesture, ...] = Field(default="", alias="with")
    marks: Mapping[str, int] = {}


class FileForm(Params):
    title: str | None = None


class Greeted(View):
    text: str
    at: datetime
    note: str | None = None


Shelf = dict[str, str]


def greet(shelf: Shelf, call: Call[Greeting, NoParams]) -> Greeted:
    return Greeted(text=f"{shelf['hello']} {call.body.name}, says {call.caller.principal}", at=WHEN)


def read_shelf(shelf: Shelf, call: Call[None, PageParams]) -> Greeted:
    return Greeted(text=f"{call.query.limit}", at=WHEN)


def read_thing(shelf: Shelf, call: Call[None, NoParams]) -> Greeted:
    if call.path["thing_id"] not in shelf:
        raise NotFoundError(f"There is no thing {call.path['thing_id']}.")
    return Greeted(text=shelf[call.path["thing_id"]], at=WHEN)


def polish_thing(shelf: Shelf, call: Call[None, NoParams]) -> Reply:
    return Reply(None, 204, {"X-Polished": call.path["thing_id"]})


def keep_file(shelf: Shelf, call: Call[FileForm, NoParams]) -> Greeted:
    assert call.file is not None
    return Greeted(text=f"{call.file.filename} {len(call.file.data)}", at=WHEN, note=call.body.title)


def break_down(shelf: Shelf, call: Call[None, NoParams]) -> Greeted:
    raise RuntimeError("the secret of the tenant")


def slow_down(shelf: Shelf, call: Call[None, NoParams]) -> Greeted:
    raise RateLimitedError("Too many.", retry_after=2.4)


def locked(shelf: Shelf, call: Call[None, NoParams]) -> Greeted:
    raise AssertionError("reached without the permission")


def ping(shelf: Shelf, call: Call[None, NoParams]) -> Greeted:
    return Greeted(text="pong", at=WHEN)


ROUTES: tuple[AnyRoute, ...] = (
    Route("POST", "/v1/greetings", greet, "Greet", Permission.RUN_CREATE, body=Greeting, response=Greeted),
    Route("GET", "/v1/things", read_shelf, "List", Permission.KB_READ, query=PageParams, response=Greeted),
    Route("GET", "/v1/things/{thing_id}", read_thing, "Read", Permission.KB_READ, response=Greeted),
    Route("POST", "/v1/things/{thing_id}:polish", polish_thing, "Polish", status=204),
    Route("POST", "/v1/files", keep_file, "Keep", form=FileForm, response=Greeted, max_file=100),
    Route("GET", "/v1/breakdown", break_down, "Break", response=Greeted),
    Route("GET", "/v1/slow", slow_down, "Slow", response=Greeted),
    Route("POST", "/v1/locked", locked, "Locked", Permission.ACCOUNT_ADMIN, response=Greeted),
    Route("GET", "/ping", ping, "Ping", public=True, response=Greeted),
)


def authenticate(header: str | None, account_id: str | None) -> Caller:
    if header != "Bearer good":
        raise UnauthenticatedError("The request carries no bearer token.")
    permissions = frozenset({Permission.RUN_CREATE, Permission.KB_READ, Permission.ACT_AS})
    return Caller("acme", Plan.PRO, "key:k1", permissions, frozenset({"dep_a", "dep_b"}))


@pytest.fixture
def client() -> Iterator[FlaskClient]:
    # No route here touches the store: no request carries an idempotency key.
    app = HttpApp(
        ROUTES,
        {"hello": "Good day", "t1": "a lamp"},
        authenticate=authenticate,
        store=cast("Store", None),
        clock=cast("Clock", None),
    )
    with client_of(app) as made:
        made.environ_base["HTTP_AUTHORIZATION"] = "Bearer good"
        yield made


def test_a_body_comes_in_and_a_view_goes_out(client: FlaskClient) -> None:
    answer = client.post("/v1/greetings", json={"name": "Ada"})
    assert answer.status_code == 200
    assert answer.json == {
        "text": "Good day Ada, says key:k1",
        "at": "2026-03-01T12:30:00.250000Z",
        "note": None,
    }
    assert answer.headers["X-Request-Id"].startswith("req_")


def test_the_request_id_of_the_client_is_kept(client: FlaskClient) -> None:
    answer = client.get("/ping", headers={"X-Request-Id": "mine-1"})
    assert answer.headers["X-Request-Id"] == "mine-1"
    odd = client.get("/ping", headers={"X-Request-Id": "no good\x7f"})
    assert odd.headers["X-Request-Id"].startswith("req_")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": 7}, "name"),
        ({"name": "Ada", "times": "2"}, "times"),
        ({"name": "Ada", "nmae": "x"}, "nmae"),
        ([], "body"),
        ({"name": "Ada", "acting_as": {"user_id": "u", "departments": []}}, "acting_as.departments"),
        ({"name": "Ada", "with": [{"type": "bow", "depth": 0}]}, "with.0.depth"),
        ({"name": "Ada", "with": [{"type": "bow"}]}, "with.0.depth"),
        ({"name": "Ada", "with": [{"type": "wave", "wave": "long"}]}, "with.0.wave"),
        ({"name": "Ada", "with": [{"type": "wave"}]}, "with.0.wave"),
        ({"name": "Ada", "with": [{"type": "nod"}]}, "with.0"),
        ({"name": "Ada", "marks": {"a.b": "x"}}, "marks.a.b"),
    ],
)
def test_what_is_wrong_with_a_body_is_told_by_field(client: FlaskClient, body: object, field: str) -> None:
    answer = client.post("/v1/greetings", json=body)
    assert answer.status_code == 400
    assert answer.content_type == "application/problem+json"
    assert answer.json is not None
    assert answer.json["code"] == "invalid_request"
    assert [error["field"] for error in answer.json["errors"]] == [field]
    assert set(answer.json) == {
        "type", "title", "status", "code", "detail", "hint", "request_id", "errors",
    }  # fmt: skip


def test_a_field_of_several_kinds_is_told_of_each_under_its_own_name(client: FlaskClient) -> None:
    for wrong in ("too long", 7):
        answer = client.post("/v1/greetings", json={"name": "Ada", "with": wrong})
        assert answer.json is not None
        assert {error["field"] for error in answer.json["errors"]} == {"with"}
        assert answer.json["detail"] == "The request's body is not valid: with."


def test_values_are_not_repeated_in_problems(client: FlaskClient) -> None:
    answer = client.post("/v1/greetings", json={"name": ["hunter2"]})
    assert "hunter2" not in answer.text


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "not_found"),
        ("GET", "/v1/things/a%20b", 404, "not_found"),
        ("GET", "/v1/things/" + "x" * 65, 404, "not_found"),
        ("GET", "/v1/things/t1/deeper", 404, "not_found"),
        ("DELETE", "/v1/things", 405, "invalid_request"),
        ("GET", "/v1/things/t2", 404, "not_found"),
        ("POST", "/v1/locked", 403, "permission_denied"),
        ("GET", "/v1/breakdown", 500, "internal"),
        ("GET", "/v1/slow", 429, "rate_limited"),
    ],
)
def test_refusals(client: FlaskClient, method: str, path: str, status: int, code: str) -> None:
    answer = client.open(path, method=method)
    assert answer.status_code == status
    assert answer.json is not None
    assert answer.json["code"] == code
    assert answer.json["request_id"] == answer.headers["X-Request-Id"]


def test_headers_that_refusals_carry(client: FlaskClient) -> None:
    assert client.get("/v1/slow").headers["Retry-After"] == "3"
    assert client.delete("/v1/things").headers["Allow"] == "GET, HEAD"
    nobody = client.get("/v1/things", headers={"Authorization": "Bearer bad"})
    assert (nobody.status_code, nobody.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_an_unexpected_error_shows_and_logs_no_content(
    client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        answer = client.get("/v1/breakdown")
    assert "secret" not in answer.text
    (record,) = [record for record in caplog.records if record.message == "unexpected error"]
    line = json.loads(JsonFormatter().format(record))
    assert line["severity"] == "ERROR"
    assert "RuntimeError" in line["exception"]
    assert any("break_down" in frame for frame in line["exception"])
    assert "secret" not in json.dumps(line)


def test_every_line_of_a_request_names_request_and_account(client: FlaskClient) -> None:
    lines: list[dict[str, object]] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(json.loads(JsonFormatter().format(record)))

    logger, keep = logging.getLogger("shared.http.app"), Keep()
    logger.addHandler(keep)
    before, logger.level = logger.level, logging.INFO
    try:
        client.post("/v1/things/t1:polish", headers={"X-Request-Id": "r1"})
        client.get("/ping", headers={"X-Request-Id": "r2"})
    finally:
        logger.removeHandler(keep)
        logger.level = before
    first, second = lines
    assert (first["request_id"], first["account_id"], first["principal"]) == ("r1", "acme", "key:k1")
    assert (first["thing_id"], first["status"]) == ("t1", 204)
    assert second["request_id"] == "r2"
    assert "account_id" not in second


def test_paging_is_bounded_and_unknown_parameters_are_errors(client: FlaskClient) -> None:
    assert client.get("/v1/things?limit=200").json["text"] == "200"  # type: ignore[index]
    for query, field in (
        ("limit=201", "limit"),
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("lmit=3", "lmit"),
        ("limit=3&limit=4", "limit"),
    ):
        answer = client.get(f"/v1/things?{query}")
        assert answer.status_code == 400
        assert answer.json is not None
        assert [error["field"] for error in answer.json["errors"]] == [field]


def test_a_file_comes_in_with_its_fields(client: FlaskClient) -> None:
    import io

    answer = client.post("/v1/files", data={"file": (io.BytesIO(b"abc"), "a b.txt"), "title": "T"})
    assert answer.json == {"text": "a b.txt 3", "at": "2026-03-01T12:30:00.250000Z", "note": "T"}
    over = client.post("/v1/files", data={"file": (io.BytesIO(b"x" * 5_000), "big.txt")})
    assert over.json is not None
    assert over.json["text"] == "big.txt 101"  # one byte over what the route takes: the handler can tell
    for wrong in ({}, {"file": (io.BytesIO(b"x"), "a"), "titel": "T"}, {"data": (io.BytesIO(b"x"), "a")}):
        answer = client.post("/v1/files", data=wrong, content_type="multipart/form-data")
        assert answer.status_code == 400
    assert client.post("/v1/files", json={"title": "T"}).status_code == 400


def test_a_body_over_the_limit_is_refused_and_read_away(client: FlaskClient) -> None:
    answer = client.post(
        "/v1/greetings", data=b'{"name": "' + b"x" * 3_000_000 + b'"}', content_type="application/json"
    )
    assert answer.status_code == 413
    assert answer.json is not None
    assert answer.json["code"] == "too_large"
    assert answer.json["title"] == "The request is too large"
    assert "file" not in answer.text


def test_a_key_may_act_for_a_user_within_its_departments(client: FlaskClient) -> None:
    acting = {"user_id": "u7", "department_ids": ["dep_a"]}
    answer = client.post("/v1/greetings", json={"name": "Ada", "acting_as": acting})
    assert answer.json is not None
    assert answer.json["text"].endswith("says user:u7")
    beyond = {"user_id": "u7", "department_ids": ["dep_a", "dep_z"]}
    refused = client.post("/v1/greetings", json={"name": "Ada", "acting_as": beyond})
    assert refused.status_code == 400
    assert refused.json is not None
    assert refused.json["errors"][0]["field"] == "acting_as.department_ids"


def test_the_table_describes_itself() -> None:
    document = openapi.document(ROUTES)
    assert document["openapi"] == "3.1.0"
    polish = document["paths"]["/v1/things/{thing_id}:polish"]["post"]
    assert [p["name"] for p in polish["parameters"]] == [
        "thing_id",
        "Idempotency-Key",
        "X-Account-Id",
        "X-Acting-As",
    ]
    greeting = document["paths"]["/v1/greetings"]["post"]["requestBody"]["content"]["application/json"]
    assert greeting["schema"] == {"$ref": "#/components/schemas/Greeting"}
    assert document["components"]["schemas"]["Greeting"]["additionalProperties"] is False
    limit = document["paths"]["/v1/things"]["get"]["parameters"][0]
    assert (limit["name"], limit["schema"]["maximum"]) == ("limit", 200)
    file = document["paths"]["/v1/files"]["post"]["requestBody"]["content"]["multipart/form-data"]
    assert set(file["schema"]["properties"]) == {"file", "title"}


def test_two_routes_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="greet"):
        openapi.document((*ROUTES, Route("PUT", "/v1/greetings", greet, "Again", body=Greeting)))
