"""Counts the arithmetic of a traced function: what a step costs, whatever the machine."""

from __future__ import annotations

import tensorflow as tf

_LOOPS = ("While", "StatelessWhile")
_BODIES = {
    "While": "body",
    "StatelessWhile": "body",
    "If": "then_branch",
    "StatelessIf": "then_branch",
    "PartitionedCall": "f",
    "StatefulPartitionedCall": "f",
}


def count_flops(graph: tf.Graph) -> int:
    """Counts the operations of all convolutions and matrix products in a graph.

    A multiplication and an addition count as two. All shapes have to be static. Of a condition the
    first branch counts. What is computed for nobody (the gradient of the input frames) counts, too,
    though TensorFlow leaves it out. A loop counts as often as its `maximum_iterations` says, and
    its gradient as often as the loop.

    Args:
        graph: of a concrete function.

    Raises:
        ValueError: there is a loop of unknown length with such operations in it.
    """
    total = 0
    for op in graph.get_operations():
        total += _flops_of(op)
        if op.type in _BODIES:
            inner = count_flops(graph._get_function(op.get_attr(_BODIES[op.type]).name).graph)
            total += inner * (_trips(op) if inner and op.type in _LOOPS else 1)
    return total


def _trips(loop: tf.Operation) -> int:
    """How often a loop runs, from its second input: the limit, or that of the loop it is of."""
    limit = loop.inputs[1].op
    while limit.type == "Identity":
        limit = limit.inputs[0].op
    if limit.type in _LOOPS:
        return _trips(limit)
    trips = tf.get_static_value(limit.outputs[0])
    if trips is None or trips < 0:
        raise ValueError(f"The loop {loop.name} does not say how often it runs at most.")
    return int(trips)


def _flops_of(op: tf.Operation) -> int:
    if op.type in ("MatMul", "BatchMatMulV2"):
        transposed = op.get_attr("transpose_a" if op.type == "MatMul" else "adj_x")
        inner = op.inputs[0].shape[-2 if transposed else -1]
        return 2 * inner * op.outputs[0].shape.num_elements()
    # Each position of the smaller image meets the whole kernel, in all three directions.
    if op.type == "Conv2D":
        return _conv_flops(op.outputs[0].shape, op.inputs[1].shape)
    if op.type == "Conv2DBackpropInput":
        return _conv_flops(op.inputs[2].shape, op.inputs[1].shape)
    if op.type == "Conv2DBackpropFilter":
        return _conv_flops(op.inputs[2].shape, op.outputs[0].shape)
    return 0


def _conv_flops(image: tf.TensorShape, kernel: tf.TensorShape) -> int:
    batch, height, width, _ = image
    return 2 * batch * height * width * kernel.num_elements()
