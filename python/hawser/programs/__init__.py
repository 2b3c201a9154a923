"""Programs of the user's own: their states, units and loops, and how they are compiled and run."""
