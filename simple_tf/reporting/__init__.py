"""Many runs on one page: what they scored, how that compares with the paper, and pictures."""
