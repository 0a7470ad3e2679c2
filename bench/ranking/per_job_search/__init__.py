"""Are shifts better that are searched for ``per_job`` itself, and not for the mean over links?"""
