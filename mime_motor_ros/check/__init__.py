"""``motor_check``: what a motor node would lack in the live graph, or in a recording."""
