"""A ranking as one HTML page that explains it and needs nothing else: no network, no library.

``demand.js`` computes demand in the page, ``page.js`` shows it; the rest of the page is written here.
"""
