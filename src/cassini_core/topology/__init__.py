"""Networks of switches, hosts and cables: read from files, generated, and searched for the links that a job crosses.

Nothing is imported here: each part is loaded only when it is used.
"""
