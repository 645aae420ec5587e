"""Where heavy work is computed: in this process, in threads, or on a Ray cluster."""
