"""What acts: policy networks and how they are trained."""
