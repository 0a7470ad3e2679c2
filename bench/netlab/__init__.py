"""The product's control on a kernel's network: ``python -m bench.netlab``."""
