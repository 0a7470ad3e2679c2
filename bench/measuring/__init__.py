"""What all rooms measure with: random jobs, timing, progress, and how a report names the machine and is written."""
