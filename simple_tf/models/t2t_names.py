"""Our variables and Tensor2Tensor's: which is which.

`t2t_name` turns the path of one of our variables into the name Tensor2Tensor (1.15) gave the
same quantity; shapes are equal.
"""

from __future__ import annotations

import re

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
