"""Do the candidates of ``cassini-core place`` win anything over random placement, and how long does it all take?"""
