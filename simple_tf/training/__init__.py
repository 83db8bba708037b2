"""What a run is made of: its configuration, and the order in which things happen."""
