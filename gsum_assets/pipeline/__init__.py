"""What is declared once, without Dagster: steps, methods, their inputs, tables, prompts, checks."""
