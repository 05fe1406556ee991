"""Knowledge outside chat: vocabularies, the brand's identity, and images described."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pydantic import Field

from shared.domain.accounts import Permission
from shared.domain.errors import InvalidRequestError
from shared.http.models import Listing, NoParams, Params, View
from shared.http.routes import AnyRoute, Call, Route
from shared.library import vocabulary
from shared.library.deps import LibraryDeps
from shared.library.vocabulary import Vocabulary

if TYPE_CHECKING:
    from shared.ports import ImageDescriber


class MediaDeps(LibraryDeps, Protocol):
    @property
    def describer(self) -> ImageDescriber: ...


class WordView(View):
    word: str
    meaning: str


class BrandPartView(View):
    knowledge_base_id: str
    name: str
    text: str


class BrandIdentityView(View):
    text: str = Field(description="All of it, composed: each part under its name.")
    parts: tuple[BrandPartView, ...]


class DescriptionView(View):
    """`tags` and `flags` hold words of the vocabularies `media-tags` and `media-flags` alone."""

    description: str
    tags: tuple[str, ...]
    flags: tuple[str, ...]
    model: str


class ImageForm(Params):
    """Beside the file, a PNG, JPEG or WebP."""


def list_media_tags(deps: LibraryDeps, call: Call[None, NoParams]) -> Listing[WordView]:
    return _words(deps, call, Vocabulary.TAGS)


def list_media_flags(deps: LibraryDeps, call: Call[None, NoParams]) -> Listing[WordView]:
    return _words(deps, call, Vocabulary.FLAGS)


def _words(deps: LibraryDeps, call: Call[None, NoParams], which: Vocabulary) -> Listing[WordView]:
    words = vocabulary.read_vocabulary(deps.store.of(call.caller.account_id), call.caller, which)
    return Listing[WordView](items=tuple(WordView(word=one.word, meaning=one.meaning) for one in words))


def get_brand_identity(deps: LibraryDeps, call: Call[None, NoParams]) -> BrandIdentityView:
    parts = vocabulary.read_brand(deps.store.of(call.caller.account_id), call.caller)
    return BrandIdentityView(
        text="\n\n".join(f"# {part.name}\n\n{part.text}".strip() for part in parts),
        parts=tuple(
            BrandPartView(knowledge_base_id=part.knowledge_base_id, name=part.name, text=part.text)
            for part in parts
        ),
    )


def describe_image(deps: MediaDeps, call: Call[ImageForm, NoParams]) -> DescriptionView:
    from shared.answer.describe import describe

    if call.file is None:
        raise InvalidRequestError("The form holds no file.", fields=(("file", "required"),))
    found = describe(deps, call.caller, call.file.data)
    return DescriptionView(
        description=found.description, tags=found.tags, flags=found.flags, model=deps.describer.name
    )


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/v1/vocabularies/media-tags",
        list_media_tags,
        "The words that images are tagged with, all of them",
        Permission.KB_READ,
        response=Listing[WordView],
    ),
    Route(
        "GET",
        "/v1/vocabularies/media-flags",
        list_media_flags,
        "The words that images are flagged with, all of them",
        Permission.KB_READ,
        response=Listing[WordView],
    ),
    Route(
        "GET",
        "/v1/brand-identity",
        get_brand_identity,
        "The brand's identity, composed for design tools",
        Permission.KB_READ,
        response=BrandIdentityView,
    ),
    Route(
        "POST",
        "/v1/media:describe",
        describe_image,
        "Describe an image in the words of the account's vocabularies",
        Permission.RUN_CREATE,
        form=ImageForm,
        response=DescriptionView,
    ),
)
