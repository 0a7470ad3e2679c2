"""What jobs would take on a network that they share: a flow-level simulator.

Its modules import Numba.
"""
