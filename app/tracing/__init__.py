"""Traces for OpenTelemetry: a run's spans are told from its events as they become facts, and handed to a collector."""
