"""Deliveries that wait for their time, survive a restart and are repeated until they are accepted."""
