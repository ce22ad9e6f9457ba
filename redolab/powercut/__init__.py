"""Power cuts: what a disk was asked for, in order, and every state in which a cut could have left it."""
