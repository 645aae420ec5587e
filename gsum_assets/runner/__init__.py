"""`gsum run`, `gsum plan` and `gsum forget`: work that is requested by a command."""
