"""Our variables and Tensor2Tensor's: which is which.

`t2t_name` turns the path of one of our variables into the name Tensor2Tensor (1.15) gave the
same quantity; shapes are equal. `KNOWN_UNUSED` are the variables of the original's graphs and
training checkpoints that a SimPLe world model does not need.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence

SCOPES = {
    "deterministic": "next_frame_basic_deterministic",
    "stochastic_discrete": "next_frame_basic_stochastic_discrete",
    "recurrent": "next_frame_basic_recurrent",
}

# Ours (a full-match pattern) -> theirs, inside the model's scope. {actions}, {rewards} and
# {hidden} are the numbers of actions and reward classes and the hidden size.
_RULES: tuple[tuple[str, str], ...] = (
    (r"actions/table", "symbol_modality_{actions}_{hidden}/input_emb/weights_0"),
    (
        r"target_actions/table",
        "symbol_modality_{actions}_{hidden}/target_action/target_emb/weights_0",
    ),
    (r"embed/(kernel|bias)", r"body/inputs_embed/\1"),
    (r"down_(\d+)/conv/(kernel|bias)", r"body/downstride\1/conv2d/\2"),
    (r"down_(\d+)/norm/(scale|bias)", r"body/downstride\1/layer_norm/layer_norm_\2"),
    (r"action/(mul|add)/(kernel|bias)", r"body/action_enc_\1/\2"),
    (r"middle_(\d+)/conv/(kernel|bias)", r"body/layer\1/conv2d/\2"),
    (r"middle_(\d+)/norm/(scale|bias)", r"body/layer\1/layer_norm/layer_norm_\2"),
    (r"lstm/kernel", "body/conv_lstm_cell/kernel"),
    (r"lstm/bias", "body/conv_lstm_cell/biases"),
    (r"memory/(kernel|bias)", r"body/state_conv/\1"),
    (r"up_(\d+)/action/(mul|add)/(kernel|bias)", r"body/upstride\1/action_enc_\2/\3"),
    (r"up_(\d+)/conv/(kernel|bias)", r"body/upstride\1/conv2d_transpose/\2"),
    (r"up_(\d+)/norm/(scale|bias)", r"body/upstride\1/layer_norm/layer_norm_\2"),
    (r"outputs/(kernel|bias)", r"body/logits/\1"),
    (r"reward/hidden/(kernel|bias)", r"body/reward_pred/\1"),
    (r"reward/weights", "target_reward/symbol_modality_{rewards}_{hidden}/softmax/weights_0"),
    (r"latent/posterior/embed/(kernel|bias)", r"body/latent_embed/\1"),
    (r"latent/posterior/action/(mul|add)/(kernel|bias)", r"body/action_enc_latent_\1/\2"),
    (r"latent/posterior/conv_0/(kernel|bias)", r"body/discriminator/conv1/\1"),
    (r"latent/posterior/conv_1/(kernel|bias)", r"body/discriminator/conv2/\1"),
    (
        r"latent/posterior/pool_0/attention/(kernel|bias)",
        r"body/discriminator/mean_with_attention1/mean_attn/\1",
    ),
    (
        r"latent/posterior/pool_1/attention/(kernel|bias)",
        r"body/discriminator/mean_with_attention2/mean_attn/\1",
    ),
    (
        r"latent/posterior/pool_0/output/(kernel|bias)",
        r"body/discriminator/mean_with_attention1/mean_attn_final/\1",
    ),
    (
        r"latent/posterior/pool_1/output/(kernel|bias)",
        r"body/discriminator/mean_with_attention2/mean_attn_final/\1",
    ),
    (r"latent/bits/(kernel|bias)", r"body/tanh_discrete_bottleneck/\1"),
    (r"latent/inject/(mul|add)/(kernel|bias)", r"body/unbottleneck_\1/\2"),
    (r"latent/predictor/first_input/(kernel|bias)", r"body/predict_bits_with_lstm/istate/\1"),
    (r"latent/predictor/first_cell/(kernel|bias)", r"body/predict_bits_with_lstm/cstate/\1"),
    (r"latent/predictor/first_output/(kernel|bias)", r"body/predict_bits_with_lstm/mstate/\1"),
    (r"latent/predictor/lstm/(kernel|bias)", r"body/predict_bits_with_lstm/lstm_cell/\1"),
    (
        r"latent/predictor/logits/(kernel|bias)",
        r"body/predict_bits_with_lstm/discrete_predict/\1",
    ),
    (r"latent/predictor/embed/(kernel|bias)", r"body/predict_bits_with_lstm/discrete_embed/\1"),
)

# Patterns (full match) of names that are known and have no counterpart here, with the reason.
KNOWN_UNUSED: tuple[tuple[str, str], ...] = (
    (r"[^/]+/body/policy/.*", "policy and value heads that SimPLe does not use"),
    (r"[^/]+/symbol_modality_\d+_\d+/input_emb/weights_0", "embedding of past rewards"),
    (
        r"[^/]+/symbol_modality_\d+_\d+/target_reward/target_emb/weights_0",
        "embedding of target rewards",
    ),
    (
        r"[^/]+/symbol_modality_\d+_\d+/target_action/target_emb/weights_0",
        "embedding of target actions, used in training only",
    ),
    (r"(.*/)?clean_scope_for_internal_state/state", "buffer of the carried state"),
    (r"training/.*", "optimiser slots"),
    (r"(losses_avg|train_stats)/.*", "running averages and counters of the training loop"),
    (r"global_step", "step counter"),
)


def t2t_name(path: str, kind: str, num_actions: int, num_rewards: int, hidden_size: int) -> str:
    """Returns Tensor2Tensor's name of one of our variables.

    Args:
        path: path of our variable, e.g. `down_0/conv/kernel`.
        kind: key of `SCOPES`.
        num_actions: number of actions.
        num_rewards: number of reward classes.
        hidden_size: channels at full resolution.

    Raises:
        ValueError: if the variable has no counterpart.
    """
    for pattern, replacement in _RULES:
        match = re.fullmatch(pattern, path)
        if match:
            name = match.expand(replacement)
            sizes = {"actions": num_actions, "rewards": num_rewards, "hidden": hidden_size}
            return f"{SCOPES[kind]}/{name.format(**sizes)}"
    raise ValueError(f"The variable {path!r} has no counterpart in Tensor2Tensor.")


def unused_reason(name: str) -> str | None:
    """Returns why a Tensor2Tensor variable is not needed, or None if it is not a known one."""
    for pattern, reason in KNOWN_UNUSED:
        if re.fullmatch(pattern, name):
            return reason
    return None


@dataclasses.dataclass(frozen=True)
class T2tSizes:
    """Sizes of a Tensor2Tensor world model, read from its checkpoint.

    Attributes:
        kind: key of `SCOPES`.
        num_actions: number of actions.
        num_rewards: number of reward classes.
        hidden_size: channels at full resolution.
        compress_steps: number of halvings.
        doubling_steps: how many of them double the channels.
        middle_layers: convolutions at the bottom (0 in the recurrent model).
        input_channels: channels of the network's stacked input.
        outputs: outputs per pixel.
        memory_channels: channels of the carried memory; 0: none.
        num_bits: latent bits; 0: none.
        predictor_units: units of the bit predictor; 0: none.
    """

    kind: str
    num_actions: int
    num_rewards: int
    hidden_size: int
    compress_steps: int
    doubling_steps: int
    middle_layers: int
    input_channels: int
    outputs: int
    memory_channels: int
    num_bits: int
    predictor_units: int


def infer_sizes(shapes: Mapping[str, Sequence[int]]) -> T2tSizes:
    """Reads a model's sizes off the variable shapes of a checkpoint.

    Raises:
        ValueError: if the checkpoint is not of a world model of a known kind.
    """
    kinds = [k for k, scope in SCOPES.items() if f"{scope}/body/inputs_embed/kernel" in shapes]
    if len(kinds) != 1:
        raise ValueError(
            "This is not a checkpoint of one of the original's world models: it has no "
            f"'<model>/body/inputs_embed/kernel' with <model> one of {sorted(SCOPES.values())}."
        )
    scope = SCOPES[kinds[0]]
    input_channels, hidden = shapes[f"{scope}/body/inputs_embed/kernel"]
    steps = _count(shapes, scope + "/body/downstride{}/conv2d/kernel")
    if not steps:
        raise ValueError(f"The checkpoint has no '{scope}/body/downstride0/conv2d/kernel'.")
    bottom = shapes[f"{scope}/body/downstride{steps - 1}/conv2d/kernel"][3]
    return T2tSizes(
        kind=kinds[0],
        num_actions=_table_rows(shapes, scope, r"symbol_modality_(\d+)_\d+/target_action/.*"),
        num_rewards=_table_rows(shapes, scope, r"target_reward/symbol_modality_(\d+)_\d+/.*"),
        hidden_size=hidden,
        compress_steps=steps,
        doubling_steps=(bottom // hidden).bit_length() - 1,
        middle_layers=_count(shapes, scope + "/body/layer{}/conv2d/kernel"),
        input_channels=input_channels,
        outputs=_size(shapes, f"{scope}/body/logits/kernel", 1),
        memory_channels=_size(shapes, f"{scope}/body/state_conv/kernel", 3) // 2,
        num_bits=_size(shapes, f"{scope}/body/unbottleneck_mul/kernel", 0),
        predictor_units=_size(
            shapes, f"{scope}/body/predict_bits_with_lstm/discrete_predict/kernel", 0
        ),
    )


def _count(shapes: Mapping[str, Sequence[int]], pattern: str) -> int:
    count = 0
    while pattern.format(count) in shapes:
        count += 1
    return count


def _size(shapes: Mapping[str, Sequence[int]], name: str, axis: int) -> int:
    return shapes[name][axis] if name in shapes else 0


def _table_rows(shapes: Mapping[str, Sequence[int]], scope: str, pattern: str) -> int:
    for name in shapes:
        match = re.fullmatch(f"{scope}/{pattern}", name)
        if match:
            return int(match.group(1))
    raise ValueError(f"The checkpoint has no variable '{scope}/{pattern}'.")
