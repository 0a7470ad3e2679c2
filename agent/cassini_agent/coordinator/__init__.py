"""The coordinator, beside the scheduler: keeps the jobs of each component together with the least waiting.

``component`` decides, purely, from what jobs report; ``coordinator`` asks daemons and tells them; ``http`` is how;
``background`` runs one in a thread of its own.
"""
