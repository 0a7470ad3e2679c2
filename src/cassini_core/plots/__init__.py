"""Pictures of what goes in and comes out, and the numbers they show. Needs matplotlib (``cassini-core[plots]``).

Nothing is imported here, and matplotlib only when something is drawn.
"""
