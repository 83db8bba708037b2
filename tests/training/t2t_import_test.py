"""Checkpoints of the original become networks of ours, or one error names all that is wrong."""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.training.t2t_checkpoint import SCOPES, T2tCheckpoint, unused_reason
from simple_tf.training.t2t_import import (
    import_checkpoint,
    load_imported,
    read_description,
    variables_by_t2t_name,
)

GOLDEN = pathlib.Path(__file__).parent / "golden"
MODELS_GOLDEN = pathlib.Path(__file__).parent.parent / "models" / "golden"
WORLD_MODELS = {
    "deterministic": {"doubling_steps": 1, "middle_layers": 2, "num_input_frames": 3},
    "stochastic_discrete": {"doubling_steps": 2, "middle_layers": 1, "memory_channels": 6},
    "recurrent": {"doubling_steps": 2, "num_reward_classes": 5},
}
POLICY = {"observation_shape": (4, 21, 14, 3), "num_actions": 18, "hidden_size": 7, "filters": 3}


def arguments_of(original, kind, **changes):
    if kind == "policy":
        return {**POLICY, **changes}
    bits = {} if kind == "deterministic" else {"bits": original.bits}
    return {**original.small, **bits, **WORLD_MODELS[kind], **changes}


def frame_size_of(arguments):
    return arguments.get("frame_shape", arguments.get("observation_shape", ())[1:])[:2]


def as_lists(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("kind", [*WORLD_MODELS, "policy"])
def test_any_size_is_recognised_and_every_weight_arrives(original, tmp_path, kind):
    arguments = arguments_of(original, kind)
    variables = original.variables(kind, **arguments)
    prefix = original.save(tmp_path / "model.ckpt-7", variables)
    imported = import_checkpoint(prefix, tmp_path / "ours", frame_size_of(arguments))
    assert imported.kind == kind
    assert as_lists(arguments).items() <= imported.arguments.items()
    assert {*imported.mapped, *imported.unused} == set(variables)
    assert imported.absent == []
    loaded = variables_by_t2t_name(load_imported(tmp_path / "ours"), kind)
    assert set(loaded) == set(imported.mapped)
    for name, variable in loaded.items():
        np.testing.assert_array_equal(variable, variables[name])


@pytest.mark.parametrize("kind", ["stochastic_discrete", "recurrent"])
def test_prediction_graphs_lack_what_only_training_needs(original, tmp_path, kind):
    arguments = arguments_of(original, kind)
    variables = original.variables(kind, **arguments)
    training_only = ("latent_embed", "action_enc_latent", "discriminator", "tanh_discrete")
    kept = {n: v for n, v in variables.items() if not any(part in n for part in training_only)}
    prefix = original.save(tmp_path / "model.ckpt-7", kept)
    imported = import_checkpoint(prefix, tmp_path / "ours", (20, 14))
    assert set(imported.absent) == set(variables) - set(kept)
    load_imported(tmp_path / "ours")
    # A part of them is no prediction graph, but a damaged training graph.
    kept[imported.absent[0]] = variables[imported.absent[0]]
    prefix = original.save(tmp_path / "model.ckpt-8", kept)
    with pytest.raises(ValueError, match=f"missing: {imported.absent[1]}"):
        import_checkpoint(prefix, tmp_path / "other", (20, 14))


@pytest.mark.parametrize("which", ["world_model", "policy"])
def test_checkpoints_of_real_training_are_explained_to_the_last_variable(original, tmp_path, which):
    listed = json.loads((GOLDEN / "training_checkpoints.json").read_text())[which]
    rng = np.random.RandomState(0)
    variables = {name: rng.randn(*shape) for name, shape in listed}
    variables = {name: np.asarray(value, np.float32) for name, value in variables.items()}
    variables["global_step"] = np.int64(321)
    original.save(tmp_path / "model.ckpt-321", variables)
    imported = import_checkpoint(str(tmp_path), tmp_path / "ours")
    assert imported.global_step == 321
    assert {*imported.mapped, *imported.unused} == set(variables)
    sizes = imported.arguments
    if which == "policy":
        assert sizes["observation_shape"] == [4, 105, 80, 3]
    else:
        assert (sizes["hidden_size"], sizes["compress_steps"], sizes["middle_layers"]) == (32, 2, 1)
    assert {name for name in imported.unused if name.startswith("training/")} == {
        name for name in variables if name.startswith("training/")
    }


@pytest.mark.parametrize(
    ("tag", "kind"), [("sd_h16", "stochastic_discrete"), ("det_h16", "deterministic")]
)
def test_all_names_of_the_originals_training_graphs_are_known(original, tag, kind):
    recorded = set(np.load(MODELS_GOLDEN / f"{tag}.npz")["train/after1__names"])
    arguments = arguments_of(original, kind, hidden_size=16, compress_steps=6, num_actions=6)
    ours = set(original.variables(kind, **{**arguments, "middle_layers": 2}))
    assert recorded == ours


def test_three_actions_share_a_table_with_three_rewards(original, tmp_path):
    arguments = arguments_of(original, "deterministic", num_actions=3)
    variables = original.variables("deterministic", **arguments)
    prefix = original.save(tmp_path / "model.ckpt-0", variables)
    imported = import_checkpoint(prefix, tmp_path / "ours", (20, 14))
    assert imported.arguments["num_actions"] == 3
    table = "next_frame_basic_deterministic/symbol_modality_3_8/input_emb/weights_0"
    assert table in imported.mapped


def test_one_error_names_all_that_is_missing_unknown_or_misshapen(original, tmp_path):
    variables = original.variables("deterministic", **arguments_of(original, "deterministic"))
    scope = SCOPES["deterministic"]
    for name in ("inputs_embed/kernel", "downstride2/conv2d/kernel", "layer0/conv2d/bias"):
        del variables[f"{scope}/body/{name}"]
    variables[f"{scope}/body/logits/kernel"] = np.zeros([9, 768], np.float32)
    variables[f"{scope}/body/upstride0/conv2d_transpose/bias"] = np.zeros([], np.float32)
    variables[f"{scope}/body/mystery/kernel"] = np.zeros([2], np.float32)
    variables["training/mystery/Adafactor"] = np.zeros([2], np.float32)
    prefix = original.save(tmp_path / "model.ckpt-0", variables)
    with pytest.raises(ValueError, match="not a whole deterministic network") as error:
        import_checkpoint(prefix, tmp_path / "ours", (20, 14))
    lines = str(error.value).splitlines()[1:]
    assert [line.split(" [")[0].strip() for line in sorted(lines)] == [
        f"misshapen: {scope}/body/logits/kernel",
        f"misshapen: {scope}/body/upstride0/conv2d_transpose/bias",
        f"missing: {scope}/body/downstride2/conv2d/kernel",
        f"missing: {scope}/body/inputs_embed/kernel",
        f"missing: {scope}/body/layer0/conv2d/bias",
        f"unknown: {scope}/body/mystery/kernel",
        "unknown: training/mystery/Adafactor",
    ]
    assert "logits/kernel [9, 768], expected [8, 768]" in str(error.value)
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize("kind", [*WORLD_MODELS, "policy"])
def test_any_single_variable_is_missed_by_name(original, tmp_path, kind):
    variables = original.variables(kind, **arguments_of(original, kind))
    needed = [n for n in variables if not unused_reason(n, kind, variables) or "target_action" in n]
    for name in needed[:: max(len(needed) // 12, 1)]:
        rest = {other: value for other, value in variables.items() if other != name}
        prefix = original.save(tmp_path / "model.ckpt-0", rest)
        with pytest.raises(ValueError, match=r"does not fit \(1\)") as error:
            import_checkpoint(
                prefix, tmp_path / "ours", frame_size_of(arguments_of(original, kind))
            )
        assert f"missing: {name} [" in str(error.value)


def test_the_frame_size_is_taken_from_the_state_buffer_or_must_fit(original, tmp_path):
    arguments = arguments_of(original, "stochastic_discrete")
    variables = original.variables("stochastic_discrete", **arguments)
    prefix = original.save(tmp_path / "model.ckpt-0", variables)
    with pytest.raises(ValueError, match=r"another size than 105x80.*--frame_size"):
        import_checkpoint(prefix, tmp_path / "ours")
    variables["clean_scope_for_internal_state/state"] = np.zeros([2, 20, 14, 6], np.float32)
    prefix = original.save(tmp_path / "model.ckpt-1", variables)
    imported = import_checkpoint(prefix, tmp_path / "ours")
    assert imported.arguments["frame_shape"] == [20, 14, 3]
    assert "state" in imported.unused["clean_scope_for_internal_state/state"]


def test_checkpoints_are_found_by_directory_prefix_and_file(original, tmp_path):
    variables = original.variables("policy", **POLICY)
    newest = original.save(tmp_path / "model.ckpt-12", variables)
    older = original.save(tmp_path / "model.ckpt-9", variables)
    for path, found in ((tmp_path, newest), (older, older), (f"{older}.index", older)):
        assert T2tCheckpoint(str(path)).prefix == found
    # As after a run was moved from another machine; the file knows better than the numbers.
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "/gone/model.ckpt-9"\n')
    assert T2tCheckpoint(str(tmp_path)).prefix == older
    for nothing in (tmp_path / "empty", tmp_path / "model.ckpt-13"):
        with pytest.raises(ValueError, match="There is no checkpoint at"):
            import_checkpoint(str(nothing), tmp_path / "ours")


def test_other_checkpoints_are_refused(original, tmp_path):
    tf.train.Checkpoint(x=tf.Variable(1.0)).write(str(tmp_path / "theirs"))
    with pytest.raises(ValueError, match="a checkpoint of something else"):
        import_checkpoint(str(tmp_path / "theirs"), tmp_path / "ours")
    (tmp_path / "damaged.index").write_bytes(b"damaged")
    with pytest.raises(ValueError, match="cannot be read"):
        import_checkpoint(str(tmp_path / "damaged"), tmp_path / "ours")
    variables = original.variables("deterministic", **arguments_of(original, "deterministic"))
    logits = f"{SCOPES['deterministic']}/body/logits"
    variables[f"{logits}/kernel"] = np.zeros([8, 3], np.float32)
    variables[f"{logits}/bias"] = np.zeros([3], np.float32)
    prefix = original.save(tmp_path / "l2.ckpt-0", variables)
    with pytest.raises(ValueError, match="predicts 3 values per pixel"):
        import_checkpoint(prefix, tmp_path / "ours", (20, 14))


def test_nothing_else_is_overwritten(original, tmp_path):
    variables = original.variables("policy", **POLICY)
    prefix = original.save(tmp_path / "model.ckpt-1", variables)
    other = original.save(tmp_path / "model.ckpt-2", variables)
    ours = tmp_path / "ours"
    for _ in range(2):  # The same import again is no loss.
        import_checkpoint(prefix, ours, (21, 14))
    with pytest.raises(ValueError, match="holds something else"):
        import_checkpoint(other, ours, (21, 14))
    assert read_description(ours).source == prefix
    (ours / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"holds something else \(notes.txt\)"):
        import_checkpoint(prefix, ours, (21, 14))
    with pytest.raises(ValueError, match="is a file"):
        import_checkpoint(prefix, ours / "notes.txt", (21, 14))


def test_loading_what_is_no_import_is_one_clear_error(original, tmp_path):
    with pytest.raises(ValueError, match="holds no imported network"):
        load_imported(tmp_path)
    prefix = original.save(tmp_path / "model.ckpt-1", original.variables("policy", **POLICY))
    import_checkpoint(prefix, tmp_path / "ours", (21, 14))
    (tmp_path / "ours" / "weights.index").unlink()
    with pytest.raises(ValueError, match="cannot be read; import again"):
        load_imported(tmp_path / "ours")


def test_truncated_and_diverged_checkpoints_are_refused_and_nothing_is_written(original, tmp_path):
    variables = original.variables("policy", **POLICY)
    prefix = original.save(tmp_path / "model.ckpt-1", variables)
    data = next(tmp_path.glob("model.ckpt-1.data*"))
    data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
    with pytest.raises(ValueError, match="cannot be read"):
        import_checkpoint(prefix, tmp_path / "ours", (21, 14))
    name = next(name for name in variables if name.endswith("conv2d/kernel"))
    variables[name] = np.full_like(variables[name], np.nan)
    prefix = original.save(tmp_path / "model.ckpt-2", variables)
    with pytest.raises(ValueError, match=f"{name} has values that are not finite"):
        import_checkpoint(prefix, tmp_path / "ours", (21, 14))
    assert not (tmp_path / "ours").exists()


def test_loading_a_damaged_or_mixed_up_import_is_one_clear_error(original, tmp_path):
    for name, units in (("ours", 7), ("other", 9)):
        variables = original.variables("policy", **{**POLICY, "hidden_size": units})
        prefix = original.save(tmp_path / f"{name}.ckpt-1", variables)
        import_checkpoint(prefix, tmp_path / name, (21, 14))
    ours, other = tmp_path / "ours", tmp_path / "other"
    for file in other.glob("weights.*"):
        (ours / file.name).write_bytes(file.read_bytes())
    with pytest.raises(ValueError, match="are of another network"):
        load_imported(ours)
    data = next(other.glob("weights.data*"))
    data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
    with pytest.raises(ValueError, match="cannot be read; import again"):
        load_imported(other)
    for change in ({"kind": "nonsense"}, {"arguments": {"colour": 1}}):
        content = {**json.loads((other / "imported.json").read_text()), **change}
        (other / "imported.json").write_text(json.dumps(content))
        with pytest.raises(ValueError, match="does not describe a network"):
            load_imported(other)
