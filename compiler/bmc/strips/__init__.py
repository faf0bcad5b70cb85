"""Parts of a model that are computed in strips of rows, so that it fits into less memory."""
