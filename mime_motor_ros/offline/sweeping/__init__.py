"""Parameter sweeps: see `sweeping.sweep` and the command `motor_sweep`."""
