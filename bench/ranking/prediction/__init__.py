"""Does the ranking predict how much slower jobs get?"""
