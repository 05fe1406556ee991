"""A Firestore that runs anywhere: `google.firestore.v1` over gRPC for the unmodified client, kept in SQLite.

`FirestoreEmulator` in `server` starts it inside a process, `python -m emulators.firestore` by itself.
README.md says what it does, with the test that shows each thing, and what it refuses.
"""
