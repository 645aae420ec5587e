"""What is declared once, without Dagster: steps, families of methods, tables, prompts, checks."""
