"""From measurements to jobs: importers that turn what was recorded into iteration times and phases.

Nothing is imported here: each importer is loaded only when it is used.
"""
