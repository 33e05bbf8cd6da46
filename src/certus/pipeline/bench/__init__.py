"""`certus bench`: contestants on tasks, under the same limits, in one run that can be taken up again.

`tasks` reads what to run, `contestants` who runs it, `jobs` is one run, `pool` and `cluster` are where runs
happen, `campaign` goes through all that have not been done and keeps their rows.
"""
