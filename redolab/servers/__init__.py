"""What runs: the catalogue of servers, how each is had, and instances of them."""
