"""The only builder of clients. Each is made on first use, once per process, so that a cold start pays only
for what its function needs."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING

from shared.settings import Settings
from shared.tenancy.authenticate import Authenticator

if TYPE_CHECKING:
    from shared.adapters.gateway import Gateway
    from shared.domain.catalogue import Catalogue
    from shared.index.cache import IndexCache
    from shared.library.inline import InlineTexts
    from shared.ports import (
        AnswerModel,
        CallerCheck,
        Clock,
        ConversationModel,
        Embedder,
        Fetcher,
        IdTokens,
        ImageDescriber,
        Objects,
        Store,
        Summarizer,
        TaskQueue,
    )


class Container:
    """What the functions hand to the flows."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def clock(self) -> Clock:
        from shared.adapters.clock import SystemClock

        return SystemClock()

    @cached_property
    def store(self) -> Store:
        from shared.adapters.firestore.store import FirestoreStore, connect

        return FirestoreStore(connect(self.settings.project, self.settings.database))

    @cached_property
    def authenticator(self) -> Authenticator:
        return Authenticator(self.store, self.clock, self.id_tokens)

    @cached_property
    def id_tokens(self) -> IdTokens | None:
        """None in a project of the emulators' kind, `demo-…`, when no Auth emulator is there: such a project
        has no users."""
        if self.settings.project.startswith("demo-") and not self.settings.auth_emulator_host:
            return None
        from shared.adapters.firebase_auth import FirebaseIdTokens

        return FirebaseIdTokens(self.settings.project, self.clock)

    @cached_property
    def uploads(self) -> Objects:
        """The bucket whose objects start ingestion."""
        return self._bucket(self.settings.uploads_bucket)

    @cached_property
    def derived(self) -> Objects:
        """The bucket for what we make; its objects trigger nothing."""
        return self._bucket(self.settings.derived_bucket)

    def _bucket(self, name: str) -> Objects:
        from shared.adapters.storage import GcsObjects, connect

        return GcsObjects(connect(self.settings.project, self.settings.storage_emulator_url), name)

    @cached_property
    def queue(self) -> TaskQueue:
        from shared.adapters.tasks import CloudTasksQueue, connect

        return CloudTasksQueue(
            connect(self.settings.tasks_emulator_host),
            self.settings.tasks_queue,
            self.settings.tasks_url,
            self.settings.tasks_service_account,
        )

    @cached_property
    def task_callers(self) -> CallerCheck | None:
        """Who may call the `tasks` function; None where the platform checks that before a call arrives."""
        if not self.settings.tasks_certs_url:
            return None
        from shared.adapters.oidc import ServiceAccountTokens

        return ServiceAccountTokens(
            self.settings.tasks_certs_url,
            email=self.settings.tasks_service_account,
            audience=self.settings.tasks_url,
        )

    @cached_property
    def fetcher(self) -> Fetcher:
        """The only way to what a tenant names on the web."""
        from shared.adapters.web.fetcher import WebFetcher

        return WebFetcher(local_sites=self.settings.web_sites, pause=self.settings.fetch_pause_seconds)

    @cached_property
    def _catalogue(self) -> Catalogue:
        from shared.domain.catalogue import Catalogue

        return Catalogue(self.settings.models)

    @cached_property
    def _openai_gateway(self) -> Gateway:
        """One a provider and process: what one caller is told to wait, all wait."""
        from shared.adapters.gateway import Gateway

        return Gateway("OpenAI", self.settings.openai_allowance)

    @cached_property
    def _anthropic_gateway(self) -> Gateway:
        from shared.adapters.gateway import Gateway

        return Gateway("Anthropic", self.settings.anthropic_allowance)

    @cached_property
    def embedder(self) -> Embedder:
        if self.settings.openai_api_key:
            from shared.adapters.gateway import patience
            from shared.adapters.openai_embeddings import DOCUMENT, QUESTION, OpenAIEmbedder

            return OpenAIEmbedder(
                api_key=self.settings.openai_api_key,
                base_url=self.settings.openai_base_url,
                model=self.settings.embedding_model,
                gateway=self._openai_gateway,
                catalogue=self._catalogue,
                question_patience=patience(QUESTION, self.settings.question_seconds),
                document_patience=patience(DOCUMENT, self.settings.document_call_seconds),
            )
        from shared.adapters.local.embedder import local_embedder

        return local_embedder()

    @cached_property
    def summarizer(self) -> Summarizer:
        if self.settings.anthropic_api_key:
            from shared.adapters.anthropic_models import SUMMARY, AnthropicSummarizer
            from shared.adapters.gateway import patience

            return AnthropicSummarizer(
                api_key=self.settings.anthropic_api_key,
                base_url=self.settings.anthropic_base_url,
                model=self.settings.summary_model,
                gateway=self._anthropic_gateway,
                catalogue=self._catalogue,
                patience=patience(SUMMARY, self.settings.document_call_seconds),
            )
        from shared.adapters.local.embedder import local_embedder
        from shared.adapters.local.summarizer import TextRankSummarizer

        return TextRankSummarizer(local_embedder())

    @cached_property
    def answer_model(self) -> AnswerModel:
        if self.settings.anthropic_api_key:
            from shared.adapters.anthropic_models import ANSWER, STREAM, AnthropicAnswers
            from shared.adapters.gateway import patience

            return AnthropicAnswers(
                api_key=self.settings.anthropic_api_key,
                base_url=self.settings.anthropic_base_url,
                model=self.settings.answer_model,
                gateway=self._anthropic_gateway,
                catalogue=self._catalogue,
                patience=patience(ANSWER, self.settings.answer_seconds),
                stream_patience=patience(STREAM, self.settings.silence_seconds),
            )
        from shared.adapters.local.answers import ExtractiveAnswers
        from shared.adapters.local.embedder import local_embedder

        return ExtractiveAnswers(local_embedder())

    @cached_property
    def conversation_model(self) -> ConversationModel | None:
        """None without a key: the words of the conversation itself then have to do."""
        if not self.settings.anthropic_api_key:
            return None
        from shared.adapters.anthropic_conversation import AnthropicConversation

        return AnthropicConversation(
            api_key=self.settings.anthropic_api_key,
            base_url=self.settings.anthropic_base_url,
            model=self.settings.summary_model,
            gateway=self._anthropic_gateway,
            catalogue=self._catalogue,
        )

    @cached_property
    def describer(self) -> ImageDescriber:
        if not self.settings.anthropic_api_key:
            from shared.adapters.local.images import NoImages

            return NoImages()
        from shared.adapters.anthropic_images import AnthropicImages

        return AnthropicImages(
            api_key=self.settings.anthropic_api_key,
            base_url=self.settings.anthropic_base_url,
            model=self.settings.answer_model,
            gateway=self._anthropic_gateway,
            catalogue=self._catalogue,
        )

    @cached_property
    def count_tokens(self) -> Callable[[str], int]:
        from shared.adapters.tokens import count_tokens

        return count_tokens

    @cached_property
    def inline_texts(self) -> InlineTexts:
        from shared.library.inline import InlineTexts

        return InlineTexts()

    @cached_property
    def index(self) -> IndexCache:
        from shared.index.cache import IndexCache

        return IndexCache(self.settings.index_cache_mb * 1024 * 1024)


@cache
def container() -> Container:
    """The process's container, from its environment."""
    return Container(Settings.from_env(os.environ))
