"""Writers of the output files: pure functions from plan and blobs to text, the same every time."""
