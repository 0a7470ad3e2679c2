"""One module per experiment; each is a :class:`bench.testbed.experiment.Experiment`."""
