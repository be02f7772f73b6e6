"""Which run trains the committed agent of each method; light enough for the command line."""

# method -> artifact, and what picks the run out of its grid at profile reduced
TRAINED_BY = {
    "feddrl": ("feddrl/table3", {"dataset": "fmnist", "partition": "pa", "num_clients": 10}),
    "fedddrl": ("fedddrl/table4", {"dataset": "mnist"}),
    "fedmarl": ("fedddrl/table4", {"dataset": "mnist"}),
    "evaluatorfl": ("frl/fig14", {}),
    "schedulerfl": ("frl/fig30", {}),
}
