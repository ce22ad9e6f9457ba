"""Power cuts: requests to a disk, in order, and every crash state that a cut could have left."""
