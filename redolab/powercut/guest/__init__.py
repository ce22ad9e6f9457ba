"""A virtual machine in which one server runs, so that the power of a whole machine can be cut: QEMU, Debian's kernel and busybox."""
