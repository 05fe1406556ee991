"""Follow-up questions on the handbook, found or not before and after they are rewritten without a model.

    python -m tests.bench.followups

Found means: a passage that answers is among the best five. Prints a line for each, then the same for
questions that change the subject, how many questions of the judged sets would be taken for follow-ups, and
JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from shared.adapters.local.embedder import local_embedder
from shared.answer.standalone import standalone
from shared.answer.threads import Recalled
from shared.context.followup import dependence
from shared.domain.conversation import Standalone
from shared.index.search import SearchScope
from shared.ports import Embedder
from shared.retrieve.fuse import rank
from tests.bench.followup_sets import HANDBOOK, HELD_OUT, SWITCHES, Conversation
from tests.bench.judged import SETS, Judged, load, questions

FOUND = 5
_SETS = ("gitlab-handbook", "stackfaq", "cranfield", "xquad-en", "xquad-zh")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Places of the best passage that answers, from 1; 0 where it is not among the candidates."""

    conversation: Conversation
    searched: Standalone
    before: int
    after: int


def last_of(conversation: Conversation) -> Standalone:
    """The last question as it is searched, each one before it having been rewritten in its turn."""
    searched: list[str] = []
    for question in conversation.asked:
        found = standalone(None, question, Recalled(searched=tuple(searched)))
        searched.append(found.query)
    return found


def outcomes(
    judged: Judged, scope: SearchScope, embedder: Embedder, conversations: Sequence[Conversation]
) -> list[Outcome]:
    made = []
    for one in conversations:
        searched = last_of(one)
        before, after = (
            _place(judged, scope, embedder, one, query) for query in (one.asked[-1], searched.query)
        )
        made.append(Outcome(one, searched, before, after))
    return made


def found(places: Sequence[int]) -> int:
    return sum(0 < place <= FOUND for place in places)


def table(made: Sequence[Outcome]) -> str:
    lines = [f"{'before':>6} {'after':>5}  question -> query"]
    for one in made:
        arrow = f" -> {one.searched.query}" if one.searched.query != one.conversation.asked[-1] else ""
        lines.append(f"{one.before or '-':>6} {one.after or '-':>5}  {one.conversation.asked[-1]}{arrow}")
    before, after = found([one.before for one in made]), found([one.after for one in made])
    lines.append(f"found of {len(made)}: {before} before, {after} after")
    return "\n".join(lines)


def _place(
    judged: Judged, scope: SearchScope, embedder: Embedder, conversation: Conversation, query: str
) -> int:
    hits = judged.search(scope, query, embedder.query(query).vectors[0])
    ranked = rank(hits, embedder.profile)
    for place, one in enumerate(ranked, start=1):
        name = one.hit.passage_id
        if name.startswith(f"{conversation.document}#") and conversation.phrase in judged.text_of[name]:
            return place
    return 0


def main() -> None:
    if not SETS.is_dir():
        sys.exit(f"The judged sets are not there: {SETS}")
    embedder = local_embedder()
    judged = load("gitlab-handbook", embedder)
    scope = judged.scope()
    totals = {"model": embedder.profile.fingerprint}
    for name, conversations in (("follow_ups", HANDBOOK), ("held_out", HELD_OUT), ("switches", SWITCHES)):
        made = outcomes(judged, scope, embedder, conversations)
        print(f"{name}\n{table(made)}\n")
        totals[name] = {
            "questions": len(made),
            "before": found([one.before for one in made]),
            "after": found([one.after for one in made]),
        }
    taken = {name: sum(dependence(q.text) is not None for q in questions(name)) for name in _SETS}
    print("taken for a follow-up, of the questions of each set:", taken)
    print(json.dumps(totals | {"taken": taken}))


if __name__ == "__main__":
    main()
