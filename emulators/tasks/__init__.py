"""Cloud Tasks over gRPC: `TasksEmulator` in `server`."""
