"""The files that counters are read from, a module each; :mod:`..recording` knows them by their first bytes.

Each gives the same :class:`~..samples.Recording`. What is not in the file is missing in the recording, never 0.
"""
