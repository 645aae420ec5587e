"""The home folder, `gsum.toml`, and paths of files that users edit."""
