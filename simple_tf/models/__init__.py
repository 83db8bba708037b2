"""World models: Keras networks that predict the next frame and reward."""
