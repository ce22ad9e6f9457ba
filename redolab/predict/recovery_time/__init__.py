"""Model of the crash recovery time: the amount of each kind of work, and the time it takes a server on a storage.

`work` counts redo, batches and pages. `terms` gives each of them a rate, which `fit` estimates from measured
recoveries. `spread` has the errors of held-out predictions.
"""
