"""Training: the loss, the optimizer's rate, validation, and the loop that ties them to checkpoints."""
