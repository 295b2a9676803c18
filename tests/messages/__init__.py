"""Calls that are refused, by subject: `CASES` of each module has them under a name that tells what is wrong."""
