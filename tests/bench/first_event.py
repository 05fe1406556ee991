"""How long a reader of a streamed answer waits for its first event, against a search for the same question.

    python -m tests.bench.first_event [--rounds 20] [--paid]

On the embedded stack, both calls for each question in turn, in changing order. The first event tells the
context, so it cannot come before the search is over: what it adds to that is ours. With `--paid` the models
are the providers' stubs, which answer at once; without, the local ones, which take their time. Prints one
JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import requests

from emulators.models.server import ModelStubs
from emulators.stack import EmbeddedStack
from infra.demo import END_STATES, EXAMPLES, QUESTIONS

_ASKED = tuple(dict.fromkeys(question.text for question in QUESTIONS))
_READY_SECONDS = 300


class Client:
    def __init__(self, stack: EmbeddedStack) -> None:
        self._url = stack.api_url
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {stack.accounts['acme']['keys']['admin']}"

    def retrieve(self, question: str) -> float:
        """Seconds until the answer is there."""
        started = time.perf_counter()
        answer = self._session.post(f"{self._url}/v1/retrieve", json={"query": question}, timeout=60)
        seconds = time.perf_counter() - started
        answer.raise_for_status()
        return seconds

    def first_event(self, question: str) -> float:
        """Seconds until the first event is there; what follows is read, so that it disturbs nobody."""
        started = time.perf_counter()
        with self._session.post(
            f"{self._url}/v1/chat/stream", json={"message": question}, timeout=60, stream=True
        ) as answer:
            answer.raise_for_status()
            lines = answer.iter_lines(chunk_size=1)
            first = next(line for line in lines if line.startswith(b"data: "))
            seconds = time.perf_counter() - started
            if "retrieval" not in json.loads(first.removeprefix(b"data: ")):
                raise RuntimeError(f"The first event is no context: {first[:200]!r}")
            for _ in lines:
                pass
        return seconds

    def upload_examples(self) -> int:
        """Uploads the example documents and waits until they can be searched."""
        made = self._session.post(
            f"{self._url}/v1/knowledge-bases",
            json={"name": "Bench", "type": "files", "is_auto_context": True},
            timeout=60,
        )
        path = f"{self._url}/v1/knowledge-bases/{made.json()['id']}/documents"
        ids = []
        for file in sorted(EXAMPLES.iterdir()):
            answer = self._session.post(path, files={"file": (file.name, file.read_bytes())}, timeout=60)
            answer.raise_for_status()
            ids.append(answer.json()["id"])
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline:
            documents = [
                self._session.get(f"{self._url}/v1/documents/{name}", timeout=60).json() for name in ids
            ]
            if all(document["status"] in END_STATES for document in documents):
                return len(ids)
            time.sleep(0.5)
        raise TimeoutError(f"The documents were not ready within {_READY_SECONDS} s.")


def measure(client: Client, rounds: int) -> dict[str, object]:
    """Medians over all questions and rounds, in milliseconds, and the ratio of each question's own."""
    for question in _ASKED:  # what is loaded on first use is not what is measured
        client.retrieve(question)
        client.first_event(question)
    times: dict[str, dict[str, list[float]]] = {
        question: {"retrieve": [], "first_event": []} for question in _ASKED
    }
    calls = {"retrieve": client.retrieve, "first_event": client.first_event}
    for number in range(rounds):
        for question in _ASKED:
            for name in sorted(calls, reverse=bool(number % 2)):
                times[question][name].append(calls[name](question))
    medians = {
        name: statistics.median([t for one in times.values() for t in one[name]]) * 1000 for name in calls
    }
    ratios = [
        statistics.median(one["first_event"]) / statistics.median(one["retrieve"]) for one in times.values()
    ]
    return {
        "retrieve_ms": round(medians["retrieve"], 1),
        "first_event_ms": round(medians["first_event"], 1),
        "ratio": round(medians["first_event"] / medians["retrieve"], 3),
        "ratio_by_question": [round(ratio, 3) for ratio in ratios],
        "calls": 2 * rounds * len(_ASKED),
    }


@contextmanager
def _stack(*, paid: bool) -> Iterator[EmbeddedStack]:
    if not paid:
        with EmbeddedStack() as stack:
            yield stack
        return
    with ModelStubs() as stubs, EmbeddedStack(env=stubs.environment()) as stack:
        yield stack


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--paid", action="store_true")
    arguments = parser.parse_args()
    with _stack(paid=arguments.paid) as stack:
        client = Client(stack)
        documents = client.upload_examples()
        report = measure(client, arguments.rounds)
    models = "stubs" if arguments.paid else "local"
    print(json.dumps({"bench": "first_event", "models": models, "documents": documents, **report}))


if __name__ == "__main__":
    main()
