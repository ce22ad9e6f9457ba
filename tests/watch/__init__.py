"""Tests of the room of running servers."""
