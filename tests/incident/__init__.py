"""Tests of the file for a server that is down."""
