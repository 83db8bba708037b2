"""Verification sees agreement with the original's recordings, and every kind of disagreement."""

import pathlib

import numpy as np
import pytest

from simple_tf.training.t2t_checkpoint import SCOPES
from simple_tf.training.t2t_comparison import Comparison, Recording
from simple_tf.training.t2t_import import build_network, variables_by_t2t_name
from simple_tf.training.t2t_report import describe_comparison
from simple_tf.training.t2t_verification import recorded_frame_size, verify

TESTS = pathlib.Path(__file__).parent.parent
INSIDE = TESTS / "training" / "golden" / "sd_h16_inside.npz"
POLICY = TESTS / "agents" / "golden" / "policy.npz"
KINDS = {"det_h16": "deterministic", "sd_h16": "stochastic_discrete", "rec_h16": "recurrent"}
TOLERANCE = 1e-4


def recorded_network(original, kind):
    """Returns a network with the weights it was recorded with."""
    sizes = {"frame_shape": (105, 80, 3), "num_actions": 6, "hidden_size": 16}
    bits = {} if kind == "deterministic" else {"bits": {"posterior_filters": (128, 512)}}
    arguments = (
        {"observation_shape": (4, 105, 80, 3), "num_actions": 6}
        if kind == "policy"
        else {**sizes, **bits}
    )
    network = build_network(kind, arguments)
    values = original.variables(kind, **arguments)
    for name, variable in variables_by_t2t_name(network, kind).items():
        variable.assign(values[name])
    return network


@pytest.fixture(scope="module")
def networks(original):
    made = {}

    def network(kind):
        if kind not in made:
            made[kind] = recorded_network(original, kind)
        return made[kind]

    return network


def recorded_steps(tag, batch_size=2):
    """Returns the project's recording of two simulated steps, laid out as the original's files."""
    data = np.load(TESTS / "models" / "golden" / f"{tag}.npz")
    frames = data["predict/history"]
    arrays = {}
    for number in range(2):
        ours, theirs = f"predict/step{number}/", f"step{number}/"
        arrays[theirs + "history"] = frames
        arrays[theirs + "reset"] = np.float32(number == 0)
        arrays[theirs + "action"] = data[ours + "action"][..., None]
        arrays[theirs + "frame"] = data[ours + "frame"][:, None]
        arrays[theirs + "reward_logits"] = data[ours + "reward_logits"][:, None, None]
        arrays[theirs + "logits__stride16"] = data[ours + "logits_stride16"][:, None]
        last = "00" if tag == "det_h16" else "03"
        for name in ("inject_latent/in", "inject_latent/out", "middle_network/out"):
            arrays[f"{theirs}inter/{name}/{last}"] = data[ours + name]
        if tag != "det_h16":
            arrays[f"{theirs}inter/lstm_pred/bits/{last}"] = data[ours + "bits"]
        frames = np.concatenate([frames[:, 1:], data[ours + "frame"][:, None]], axis=1)
    return {key: value[:batch_size] if value.ndim else value for key, value in arrays.items()}


def write(path, arrays):
    np.savez(path, **arrays)
    return Recording(path)


def test_the_inside_of_the_network_equals_the_originals(networks, tmp_path):
    recording = write(tmp_path / "r.npz", {**recorded_steps("sd_h16"), **np.load(INSIDE)})
    comparison = verify(networks("stochastic_discrete"), "stochastic_discrete", recording)
    checked = {check.name for check in comparison.checks()}
    for step in ("step0", "step1"):
        assert checked >= {
            f"{step}/frame",
            f"{step}/reward",
            f"{step}/reward_logits",
            f"{step}/logits__stride16",
            f"{step}/state_after_stride",
            f"{step}/state_after_l2",
            f"{step}/inter/inject_latent/in/00..03",
            f"{step}/inter/inject_latent/out/00..03",
            f"{step}/inter/lstm_pred/discrete_logits/00..63",
            f"{step}/inter/lstm_pred/bits/00..03",
            f"{step}/inter/middle_network/out/00..03",
            f"{step}/inter/next_frame/reward_hidden/00..03",
        }
    assert "step0/inter/layer_norm_first_call/04..07" in checked
    assert comparison.unchecked() == [
        f"step{number}/inter/next_frame/{head}/00..03"
        for number in range(2)
        for head in ("policy", "value")
    ]
    lines, passed = describe_comparison(comparison, TOLERANCE)
    assert passed, "\n".join(lines)


@pytest.mark.parametrize("tag", ["det_h16", "rec_h16"])
def test_simulated_steps_equal_the_originals_at_any_batch_size(networks, tmp_path, tag):
    recording = write(tmp_path / "r.npz", recorded_steps(tag, batch_size=1))
    assert recorded_frame_size(recording) == (105, 80)
    comparison = verify(networks(KINDS[tag]), KINDS[tag], recording)
    lines, passed = describe_comparison(comparison, TOLERANCE)
    assert passed, "\n".join(lines)
    assert comparison.unchecked() == []


def test_training_and_evaluation_losses_equal_the_originals(networks, tmp_path):
    data = np.load(TESTS / "models" / "golden" / "det_h16.npz")
    arrays = {f"in/{name}": array for name, array in recorded_window().items()}
    evaluation = {
        "loss/training": data["eval/loss/training"],
        "reward_logits": data["eval/reward_logits"],
    }
    training = {
        key.removeprefix("train/"): data[key]
        for key in data.files
        if key.startswith(("train/cfg", "train/configs"))
    }
    for file, recorded, count in (("e", evaluation, 2), ("t", training, 6)):
        recording = write(tmp_path / f"{file}.npz", {**arrays, **recorded})
        comparison = verify(networks("deterministic"), "deterministic", recording)
        lines, passed = describe_comparison(comparison, TOLERANCE)
        assert passed, "\n".join(lines)
        assert len(comparison.checks()) == count


def recorded_window():
    rng = np.random.RandomState(0)
    shapes = {"inputs": (2, 4, 105, 80, 3), "targets": (2, 1, 105, 80, 3)}
    window = {name: rng.randint(0, 256, shape).astype(np.uint8) for name, shape in shapes.items()}
    for what, limit in (("action", 6), ("reward", 3)):
        for part, length in (("input", 4), ("target", 1)):
            window[f"{part}_{what}"] = rng.randint(0, limit, (2, length, 1)).astype(np.uint8)
    return window


def test_policies_equal_the_originals(networks):
    comparison = verify(networks("policy"), "policy", Recording(POLICY))
    assert len(comparison.checks()) == 4
    assert describe_comparison(comparison, TOLERANCE)[1]
    assert not describe_comparison(comparison, 1e-12)[1]


def test_one_wrong_weight_or_tensor_is_seen(networks, tmp_path):
    policy = networks("policy")
    arrays = dict(np.load(POLICY))
    arrays["value_epoch3"] = arrays["value_epoch3"] + [0, 0, 1e-3, 0]
    arrays["logits_epoch3"] = np.full_like(arrays["logits_epoch3"], np.nan)
    comparison = verify(policy, "policy", write(tmp_path / "r.npz", arrays))
    failed = [check.name for check in comparison.checks() if not check.passes(TOLERANCE)]
    assert failed == ["logits_epoch3", "value_epoch3"]
    policy.value_layer.bias.assign_add([0.1])
    comparison = verify(policy, "policy", Recording(POLICY))
    policy.value_layer.bias.assign_sub([0.1])
    errors = {check.name: check.absolute for check in comparison.checks()}
    assert errors["value_epoch3"] == pytest.approx(0.1, rel=1e-3)
    assert errors["logits_epoch3"] < 1e-5


def test_choices_are_judged_by_how_far_our_logits_are_from_them(tmp_path):
    logits = np.array([[[0.0, 2.0, 1.0], [5.0, 4.0, -8.0]]])
    recording = write(tmp_path / "r.npz", {"same": [[1, 0]], "other": [[1, 1]], "many": [[1, 3]]})
    comparison = Comparison(recording)
    comparison.likeliest("same", logits)
    comparison.likeliest("other", logits)
    assert [check[1:] for check in comparison.checks()] == [(0.0, 0.0), (1.0, 1.0 / 8.0)]
    comparison.check_fit()
    comparison.likeliest("many", logits)
    with pytest.raises(ValueError, match="another network: its 'many' has choices up to 3"):
        comparison.check_fit()


def test_nothing_to_check_is_no_success(networks, tmp_path):
    recording = write(tmp_path / "r.npz", {"obs": np.load(POLICY)["obs"], "gae/reward": [1.0]})
    comparison = verify(networks("policy"), "policy", recording)
    lines, passed = describe_comparison(comparison, TOLERANCE)
    assert not passed
    assert "nothing that could be checked" in lines[-1]
    assert comparison.unchecked() == ["gae/reward"]


def test_recordings_of_other_networks_are_refused(networks, tmp_path):
    deterministic = networks("deterministic")
    stochastic = write(tmp_path / "sd.npz", recorded_steps("sd_h16"))
    with pytest.raises(ValueError, match="of a recurrent or stochastic_discrete network"):
        verify(deterministic, "deterministic", stochastic)
    with pytest.raises(ValueError, match="of a policy network"):
        verify(deterministic, "deterministic", Recording(POLICY))
    # Found inside a layer, too, it is one sentence.
    for key, shape in (
        ("step0/reward_logits", (2, 1, 1, 5)),
        ("step0/inter/inject_latent/in/00", (2, 2, 2, 7)),
    ):
        other = {**recorded_steps("det_h16"), key: np.zeros(shape)}
        with pytest.raises(ValueError, match=rf"^The recording .* its '{key}' has shape.*\.$"):
            verify(deterministic, "deterministic", write(tmp_path / "r.npz", other))
    trained = {"in/inputs": [0], "cfg0/grad__names": [f"{SCOPES['recurrent']}/body/x"]}
    with pytest.raises(ValueError, match="of a recurrent network"):
        verify(deterministic, "deterministic", write(tmp_path / "t.npz", trained))
    with pytest.raises(ValueError, match="not a recording of the original"):
        verify(deterministic, "deterministic", write(tmp_path / "x.npz", {"x": [1]}))


@pytest.mark.parametrize("content", [b"", b"no npz", b"PK\x03\x04 broken"])
def test_unreadable_files_are_refused(tmp_path, content):
    (tmp_path / "r.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"r\.npz"):
        Recording(tmp_path / "r.npz")
    with pytest.raises(ValueError, match=r"gone\.npz"):
        Recording(tmp_path / "gone.npz")
