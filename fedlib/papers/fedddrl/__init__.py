"""FedDdrl: artifacts, runs, tables, figures and claims."""
