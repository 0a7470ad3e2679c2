"""Links one by one: one link for a caller, and all distinct link problems of a round, each solved once.

Imports the root modules and ``kernel``.
"""
