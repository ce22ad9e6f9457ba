"""The lab on other machines: over SSH, on a virtual machine, on many by Dask."""
