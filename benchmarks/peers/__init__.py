"""Contestants of other projects: pfl-research in this process, the others in environments of their own."""
