"""The daemon, one per server: ``cassini-agent serve``.

It passes schedules from the scheduler to the jobs and measurements from the jobs to whoever asks. Whatever happens to
it, the jobs go on: they never wait for it.
"""
