"""How long does a ranking at the scale of a cluster take, and what is asked of it?"""
