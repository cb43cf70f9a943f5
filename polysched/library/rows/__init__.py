"""Functions of the rows of a matrix, by kernels for any size: softmax, layer normalization."""
