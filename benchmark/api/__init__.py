"""The suite from Python: what the command line does, as values. `import benchmark` hands these names out lazily."""
