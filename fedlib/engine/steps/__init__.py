"""Local training steps: by autograd, and written out for two kinds of network."""
