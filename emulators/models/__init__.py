"""Model providers as stubs: the wire formats of OpenAI embeddings and Anthropic messages over HTTP.

`ModelStubs` in `server` runs both inside a process, `python -m emulators.models` by themselves. Answers are
deterministic; `script` says how to make them fail.
"""
