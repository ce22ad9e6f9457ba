"""Tests of servers of the user while they run or recover."""
