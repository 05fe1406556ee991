"""Cloud Scheduler's HTTP jobs: `SchedulerEmulator` in `server`."""
