"""Series of redo counters: sampled from instances of the lab and from servers that are not the lab's."""
