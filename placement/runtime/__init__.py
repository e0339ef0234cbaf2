"""Limits, clocks, events, log lines and progress. These modules do not know the domain."""
