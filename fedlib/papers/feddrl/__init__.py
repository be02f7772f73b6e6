"""FedDRL: artifacts, runs, tables, figures and claims."""
