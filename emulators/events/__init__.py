"""Object events: the topic that the storage emulator publishes to, and the trigger that delivers from it."""
