"""How long crash recovery takes: how much there is to do, and what each kind of work takes a server on a storage.

`work` counts (redo, batches, pages), `terms` has what each of these takes, `fit` learns it from measured recoveries, and
`spread` how far predictions of recoveries that no fit has seen were off.
"""
