"""Did a change of the code change any answer?"""
