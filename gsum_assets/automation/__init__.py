"""Unattended work: what is due, who notices it, and when.

`currency` tells from the warehouse which partitions are due, `attempts` from Dagster's run log
which were tried in vain; `conditions` puts both into the automation condition that the daemon and
`gsum run` evaluate. `sensors` watches the corpora, `jobs` holds what can be started by name or
runs on a schedule, `freshness` says when a result is late.
"""
