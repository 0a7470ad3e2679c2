"""The studies of the link report: ``run`` measures, ``tables`` says in Markdown what was found."""
