"""`certus bench`: run engines and other tools on tasks under the same limits, in a campaign that can be
resumed.

`tasks` selects the tasks, `contestants` describes engines and tools, `jobs` runs one of them on one task,
`runners` runs jobs in parallel, `campaign` runs what is missing and saves its rows, `results` judges them.
"""
