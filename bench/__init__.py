"""A room per question; ``bench/README.md`` says which, with what command, and how long it takes."""
