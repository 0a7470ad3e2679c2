"""The paper's experiments, and what they rest on."""
