"""The simulator beside others: SimGrid's flows, ns-3's packets."""
