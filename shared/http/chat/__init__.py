"""Answering over HTTP: chat, retrieve, threads, runs."""
