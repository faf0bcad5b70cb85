"""bmc: compiles a model to constant tables, prelinked kernels and weights for bare metal."""
