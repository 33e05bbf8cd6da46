"""Transform tasks by passes: each returns the new task and a back map for evidence (`core.engine`).

No pass is trusted: the checker sees the original program and the evidence about it.
"""
