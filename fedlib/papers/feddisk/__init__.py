"""FedDisk: artifacts, runs, tables, figures and claims."""
