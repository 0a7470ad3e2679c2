"""The kernel from Python: the compiled extension, and the arrays and options it is called with.

Imports the root modules only. Nothing outside this package imports the extension.
"""
