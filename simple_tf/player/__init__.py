"""Playing a learned game by hand, beside the real one: a small server and its page."""
