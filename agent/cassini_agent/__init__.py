"""The agent: applies the time-shifts of a ranking to training jobs, keeps them, and measures whether they stay.

Importing this package costs nothing: what runs inside a training process takes its modules one by one, and they need
the standard library only. ``docs/agent.md`` has the formats between the parts.
"""
