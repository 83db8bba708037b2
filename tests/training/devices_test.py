"""What is asked for is there, or the message says what is missing."""

import json

import pytest
import tensorflow as tf

from simple_tf.training.devices import DeviceError, Devices, check_tf_config, choose_devices

WORKERS = ["localhost:2222", "localhost:2223"]


def _config(workers=WORKERS, kind="worker", index=1):
    return json.dumps({"cluster": {"worker": workers}, "task": {"type": kind, "index": index}})


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    monkeypatch.delenv("TPU_NAME", raising=False)


@pytest.mark.parametrize("name", ["auto", "cpu"])
def test_without_accelerators_it_is_one_device_and_no_special_strategy(name):
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("this machine has a GPU")
    devices = choose_devices(name)
    assert devices.strategy is tf.distribute.get_strategy()
    assert devices.describe() == {"strategy": "cpu", "replicas": 1, "kinds": ["CPU"]}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpu", "needs 1 GPU, but TensorFlow finds none"),
        ("multi_gpu", "needs 2 GPUs, but TensorFlow finds none"),
        ("tpu", "found no TPU called 'local'"),
        ("multi_worker", "needs TF_CONFIG in the environment"),
        ("gpus", "none of auto, cpu"),
    ],
)
def test_what_is_not_there_is_named(name, message):
    if "gpu" in name and tf.config.list_physical_devices("GPU"):
        pytest.skip("this machine has a GPU")
    with pytest.raises(DeviceError, match=message):
        choose_devices(name)


def test_what_the_work_cannot_be_done_with_is_refused_or_passed_over(monkeypatch):
    with pytest.raises(DeviceError, match="it computes with cpu or gpu"):
        choose_devices("multi_gpu", possible=("cpu", "gpu"))
    monkeypatch.setenv("TF_CONFIG", _config())
    if not tf.config.list_physical_devices("GPU"):
        assert choose_devices("auto", possible=("cpu", "gpu")).name == "cpu"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ("{}", "cannot be read"),
        ('{"cluster": {"worker": ["a:1"]}}', "cannot be read"),
        (_config(index=2), "task worker 2 is not one of its workers"),
        (_config(index=-1), "task worker -1 is not one of its workers"),
        (_config(kind="chief", index=0), "cannot be read"),
        (_config(workers=[], index=0), "is not one of its workers"),
    ],
)
def test_a_wrong_tf_config_is_explained_with_an_example(text, message):
    with pytest.raises(DeviceError, match=message) as caught:
        check_tf_config(text)
    assert "host1:2222" in str(caught.value)


def test_a_right_tf_config_names_all_workers():
    assert check_tf_config(_config()) == WORKERS
    with_chief = {
        "cluster": {"chief": ["a:1"], "worker": ["b:1"]},
        "task": {"type": "chief", "index": 0},
    }
    assert check_tf_config(json.dumps(with_chief)) == ["a:1", "b:1"]


def test_the_default_is_what_tensorflow_does_without_a_strategy():
    assert Devices().strategy is tf.distribute.get_strategy()
