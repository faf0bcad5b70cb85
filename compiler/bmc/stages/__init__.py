"""The steps of `bmc compile`, each a function from one artifact to the next; bmc.pipeline calls them."""
