"""Statistics, published numbers and tables, free of any one paper."""
