"""Dagster's instance, its storage, and the IO managers of tables, models and settings."""
