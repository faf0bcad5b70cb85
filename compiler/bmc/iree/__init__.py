"""All that bmc knows about IREE as a program. To take another IREE, change this folder first."""
