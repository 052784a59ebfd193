"""The attention of models that are not ours: recognised in the calls of torch functions that they make."""
