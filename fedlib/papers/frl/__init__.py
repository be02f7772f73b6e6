"""FRL report: artifacts, runs, tables, figures and claims."""
