"""How good world models and policies are: rollouts against the real game, scores, pictures."""
