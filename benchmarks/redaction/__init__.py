"""What the redactor misses, what it cuts without need, and how fast it is."""
