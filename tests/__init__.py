import gc

# Before anything is imported: the modules and definitions of Dagster are many objects that stay,
# and to look for garbage among them again and again took an eighth of the time.
gc.set_threshold(50_000, 20, 100)
