"""Does the control of the agent keep jobs interleaved, and what does it cost? Simulated, with the agent's own code."""
