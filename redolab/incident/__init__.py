"""`redolab-incident.pyz`: `follow` and `timeline` as one file, for a server without redolab. `build` makes it.

It has the modules of redolab that the two need, as they are, and PyMySQL. What they take from other packages, and what
Python has only since 3.11, is in `standins` and `older`.
"""
