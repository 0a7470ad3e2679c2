"""How fast is a link solved with proof, and how fast by others?"""
