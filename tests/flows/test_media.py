"""Knowledge outside chat: vocabularies, the brand's identity, images described in the account's words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from emulators.models.script import Fault
from emulators.models.server import ModelStubs
from shared.adapters.anthropic_images import AnthropicImages
from shared.adapters.local.images import NoImages
from shared.domain.media import Described, DescribeRequest
from shared.ports import ImageDescriber
from tests.flows.api_stack import Api, Stack, Tenant, created, problem, stack_on
from tests.flows.workbench import Workbench

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 50
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 50
WEBP = b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 50


@dataclass
class ScriptedDescriber:
    """`ports.ImageDescriber`: says what it is told to, and keeps what it was asked."""

    answers: list[Described] = field(default_factory=list)
    asked: list[DescribeRequest] = field(default_factory=list)
    name: str = "scripted"

    def describe(self, request: DescribeRequest) -> Described:
        self.asked.append(request)
        return self.answers.pop(0)


@dataclass
class MediaBench(Workbench):
    describer: ImageDescriber = field(default_factory=ScriptedDescriber)


@dataclass(frozen=True)
class Studio:
    bench: MediaBench
    stack: Stack
    tenant: Tenant

    def words(self, category: str, *words: str, departments: Sequence[str] = (), kind: str = "form") -> str:
        """A knowledge base of this category with these words."""
        body = {
            "name": f"{category} {' '.join(words)}".replace("-", " ").replace(".", ""),
            "type": kind,
            "category": category,
            "department_ids": [self.tenant.departments[name] for name in departments],
        }
        base = created(self.tenant.admin("POST", "/v1/knowledge-bases", body))["id"]
        contents = (
            [{"text": "\n".join(words)}] if kind == "page" else [{"values": {"word": w}} for w in words]
        )
        for content in contents:
            created(self.tenant.admin("POST", f"/v1/knowledge-bases/{base}/records", content))
        return str(base)

    def describe(self, data: bytes = PNG, api: Api | None = None) -> Any:
        return (api or self.tenant.admin).upload("/v1/media:describe", data, "a.png")


@pytest.fixture
def studio(bench: Workbench) -> Studio:
    whole = MediaBench(bench.store, bench.uploads, bench.derived)
    stack = stack_on(whole)
    return Studio(whole, stack, stack.tenant())


@pytest.fixture
def scripted(studio: Studio) -> ScriptedDescriber:
    describer = ScriptedDescriber()
    studio.bench.describer = describer
    return describer


def words(api: Api, name: str) -> list[str]:
    return [one["word"] for one in created(api("GET", f"/v1/vocabularies/{name}"))["items"]]


def test_a_vocabulary_is_what_its_knowledge_bases_hold_now(studio: Studio) -> None:
    api = studio.tenant.admin
    assert words(api, "media-tags") == []
    form = studio.words("media-tags", "beach", "Sea")
    studio.words("media-tags", "sea", "night", kind="page")
    studio.words("media-flags", "people")
    assert words(api, "media-tags") == ["beach", "Sea", "night"]
    assert words(api, "media-flags") == ["people"]
    created(api("PATCH", f"/v1/knowledge-bases/{form}", {"active": False}))
    assert words(api, "media-tags") == ["sea", "night"]
    assert problem(api("GET", "/v1/vocabularies/other")) == (404, "not_found")


def test_words_and_brand_of_another_department_are_not_there(studio: Studio) -> None:
    studio.words("media-tags", "secret", departments=["engineering"])
    studio.words("brand-identity", "Hush.", departments=["engineering"], kind="page")
    stranger = studio.stack.tenant().admin
    for api in (studio.tenant.marketing, stranger):
        assert words(api, "media-tags") == []
        assert created(api("GET", "/v1/brand-identity")) == {"text": "", "parts": []}
    assert words(studio.tenant.engineering, "media-tags") == ["secret"]
    assert "Hush." in created(studio.tenant.engineering("GET", "/v1/brand-identity"))["text"]


def test_the_brand_is_composed_of_its_parts(studio: Studio) -> None:
    api = studio.tenant.admin
    for name, kind, content in (
        ("Voice", "page", {"text": "Warm and plain."}),
        ("Colours", "form", {"values": {"name": "Sea", "hex": "#0af"}}),
    ):
        body = {"name": name, "type": kind, "category": "brand-identity"}
        base = created(api("POST", "/v1/knowledge-bases", body))["id"]
        created(api("POST", f"/v1/knowledge-bases/{base}/records", content))
    found = created(api("GET", "/v1/brand-identity"))
    assert found["text"] == "# Colours\n\nhex: #0af\nname: Sea\n\n# Voice\n\nWarm and plain."
    assert [part["name"] for part in found["parts"]] == ["Colours", "Voice"]


def test_an_image_is_described_in_words_of_the_vocabularies(studio: Studio, stubs: ModelStubs) -> None:
    stubs.anthropic.reset()
    studio.bench.describer = AnthropicImages(
        api_key="k", base_url=stubs.anthropic_url, model="claude-sonnet-5-5"
    )
    studio.words("media-tags", "beach", "sea")
    studio.words("media-flags", "people")
    for data, kind in ((PNG, "image/png"), (JPEG, "image/jpeg"), (WEBP, "image/webp")):
        found = created(studio.describe(data))
        assert (found["tags"], found["flags"]) == (["beach"], ["people"])
        assert found["model"] == "claude-sonnet-5-5"
        image = stubs.anthropic.calls[-1].body["messages"][0]["content"][0]
        assert image["source"]["media_type"] == kind
    schema = stubs.anthropic.calls[-1].body["output_config"]["format"]["schema"]
    assert schema["properties"]["tags"]["items"]["enum"] == ["beach", "sea"]
    usage = created(studio.tenant.admin("GET", "/v1/usage?group_by=purpose"))["items"]
    assert [(one["purpose"], one["calls"]) for one in usage if one["purpose"]] == [("image", 3)]
    # A word of its own is sent back once; who stays with it is refused.
    foreign = json.dumps({"description": "Sand.", "tags": ["beach", "dune"], "flags": []})
    stubs.anthropic.then(Fault.saying(foreign))
    before = len(stubs.anthropic.calls)
    assert created(studio.describe())["tags"] == ["beach"]
    assert "dune" in stubs.anthropic.calls[before + 1].texts[-1]
    stubs.anthropic.then(Fault.saying(foreign), Fault.saying(foreign))
    assert problem(studio.describe()) == (503, "model_unavailable")
    stubs.anthropic.then(Fault.saying("no JSON"))
    assert problem(studio.describe()) == (503, "model_unavailable")
    stubs.anthropic.then(Fault.refusal())
    assert problem(studio.describe()) == (503, "model_unavailable")


def test_an_edit_of_the_vocabulary_changes_the_next_description(
    studio: Studio, scripted: ScriptedDescriber
) -> None:
    base = studio.words("media-tags", "beach")
    scripted.answers = [Described("Sand.", ("beach",), ()), Described("Sand.", ("dune", "dune"), ())]
    assert created(studio.describe())["tags"] == ["beach"]
    path = f"/v1/knowledge-bases/{base}/records"
    (record,) = created(studio.tenant.admin("GET", path))["items"]
    created(studio.tenant.admin("PUT", f"/v1/records/{record['id']}", {"values": {"word": "dune"}}))
    assert created(studio.describe())["tags"] == ["dune"]
    assert [[word.word for word in one.tags] for one in scripted.asked] == [["beach"], ["dune"]]


def test_a_caller_is_given_its_departments_words(studio: Studio, scripted: ScriptedDescriber) -> None:
    studio.words("media-tags", "secret", departments=["engineering"])
    scripted.answers = [
        Described("x", (), ()),
        Described("x", ("secret",), ()),
        Described("x", ("secret",), ()),
    ]
    assert created(studio.describe(api=studio.tenant.marketing))["tags"] == []
    assert scripted.asked[0].tags == ()
    refused = studio.describe(api=studio.tenant.marketing)
    assert problem(refused) == (503, "model_unavailable")
    assert "secret" not in refused.text


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", (400, "empty_file")),
        (b"GIF89a" + b"\0" * 20, (415, "unsupported_type")),
        (b"%PDF-1.7", (415, "unsupported_type")),
        (PNG + b"\0" * 3_750_000, (413, "too_large")),
    ],
)
def test_what_is_no_image_is_refused(
    studio: Studio, scripted: ScriptedDescriber, data: bytes, code: tuple[int, str]
) -> None:
    assert problem(studio.describe(data)) == code
    assert scripted.asked == []


def test_without_a_model_that_sees_it_says_what_is_missing(studio: Studio) -> None:
    studio.bench.describer = NoImages()
    refused = studio.describe()
    assert problem(refused) == (503, "model_unavailable")
    assert "ANTHROPIC_API_KEY" in refused.json["hint"]
