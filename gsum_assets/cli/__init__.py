"""The command `gsum`: arguments, progress and tables on the terminal."""
