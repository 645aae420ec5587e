"""Modules of `LocalEmbedder`: model files, their settings, windows, batches, the encoder."""
