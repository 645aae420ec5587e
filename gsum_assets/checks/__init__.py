"""Asset checks of all tables and of single tables.

A check runs with the materialization of its table and never blocks anything. Its result is about
the whole table: a run checks the partitions that it wrote, and again those that failed before, so
that a problem is reported until it is solved (`evaluate.py`). Executed by themselves, checks cover
all partitions.

To add a check, write a pure function from tables to a `Finding`, in the folder of the method that
owns the table, and add it to `CHECKS` (`registry.py`).
"""
