"""Does an importer find the job in what it recorded?"""
