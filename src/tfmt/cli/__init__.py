"""The shell: turns words into calls. A file a command, gathered by `main`; heavy imports wait until it runs."""
