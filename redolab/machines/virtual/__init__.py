"""The virtual machine that the lab makes for itself by Vagrant: its box, the libvirt that runs it, its life."""
