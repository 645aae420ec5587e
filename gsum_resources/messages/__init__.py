"""Progress of long work, and suggestions in error messages."""
