"""What Graph of Records gains beside dense retrieval, over five seeds of its training."""
