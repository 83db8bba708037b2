"""Real games. Modules here import no TensorFlow unless their name says so (worker processes)."""
