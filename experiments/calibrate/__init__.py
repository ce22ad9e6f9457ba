"""How long do recoveries take on this machine, after a few small crashes: what predicts the large ones here?"""
