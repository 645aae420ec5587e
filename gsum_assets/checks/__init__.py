"""Asset checks: what should be true of every table, and of each in particular.

A check runs with the materialization of its table and never holds anything back. It speaks for
the whole table: a run looks at what it made, and again at whatever failed when last looked at, so
that a problem stays in sight until it is gone (`evaluate.py`). Executed by themselves, checks look
at everything.

To check one more property of a table, write a pure function from tables to a `Finding`, in the
folder of the method that owns the table, and name it in `CHECKS` (`registry.py`).
"""
