"""A message as it is searched: a follow-up is searched with what it leans on, everything else as it is."""

from __future__ import annotations

import logging
from dataclasses import replace

from shared.answer.threads import Recalled
from shared.context.carry import carried
from shared.context.followup import FEW, dependence
from shared.domain.conversation import Rewriting, Standalone
from shared.domain.errors import ModelUnavailableError
from shared.domain.models import FollowUp
from shared.domain.plaintext import visible
from shared.ports import ConversationModel

log = logging.getLogger(__name__)

# A model sees for itself whether a question stands alone, so it is asked about more of them.
_FEW_FOR_A_MODEL = FEW + 3
_TURNS = 6
_MOST_CHARACTERS = 500


def standalone(model: ConversationModel | None, message: str, recalled: Recalled) -> Standalone:
    """Never raises: without a usable word from the model the subject of the question before is carried."""
    if not recalled.searched:
        return Standalone(message, reason="it begins the conversation")
    if model is None:
        return _carried(message, recalled)
    doubt = dependence(message, few=_FEW_FOR_A_MODEL)
    return Standalone(message) if doubt is None else _by_model(model, message, recalled, doubt)


def _by_model(model: ConversationModel, message: str, recalled: Recalled, doubt: str) -> Standalone:
    try:
        rewritten = model.standalone(FollowUp(message, recalled.turns[-_TURNS:]))
    except ModelUnavailableError as error:
        log.warning("follow-up not rewritten by the model", extra={"code": error.code})
        return _instead(message, recalled, f"{model.name} did not answer ({error.code})")
    text = " ".join(visible(rewritten.text).split())
    if not text or len(text) > _MOST_CHARACTERS:
        unusable = _instead(message, recalled, f"{model.name} gave no usable question")
        return replace(unusable, use=rewritten.use)
    if text == " ".join(message.split()):
        return Standalone(message, use=rewritten.use)
    return Standalone(text, Rewriting.MODEL, doubt, rewritten.use)


def _instead(message: str, recalled: Recalled, failure: str) -> Standalone:
    found = _carried(message, recalled)
    return replace(found, reason=f"{found.reason}; {failure}")


def _carried(message: str, recalled: Recalled) -> Standalone:
    doubt = dependence(message)
    query = carried(message, recalled.searched) if doubt is not None else None
    if doubt is None or query is None:
        return Standalone(message)
    return Standalone(query, Rewriting.CARRIED, doubt)
