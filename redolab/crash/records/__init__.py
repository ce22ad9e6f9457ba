"""Records: specs, states, trials and plans as data classes, shared by code that makes and code that reads them."""
