"""The wheel itself: what the limited API costs, and what the library brings along."""
