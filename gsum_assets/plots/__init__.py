"""Plots for the UI: pure functions from tables to PNG, small enough for the event log."""
