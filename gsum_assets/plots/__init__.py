"""The main metrics, and plots of tables for Dagster's pages and the report."""
