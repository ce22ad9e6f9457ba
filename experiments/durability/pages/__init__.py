"""The page of durability, made from runs of power cuts."""
