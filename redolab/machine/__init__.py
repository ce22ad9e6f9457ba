"""The machine that the lab acts on: its processes, files, devices and tools; how the lab undoes what it makes."""
