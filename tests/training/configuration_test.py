import gin
import pytest

from simple_tf.envs.catalog import find_game

# Known to gin once imported.
from simple_tf.training import experiment, model_free, random_play  # noqa: F401
from simple_tf.training.configuration import bound_value, configure
from simple_tf.training.gin_files import ConfigurationError, find_gin_file, shipped_directory
from simple_tf.training.networks import build_policy


@pytest.fixture(autouse=True)
def _clear_gin():
    gin.clear_config()
    yield
    gin.clear_config()


@pytest.mark.parametrize("path", sorted(shipped_directory().glob("*.gin")), ids=lambda p: p.name)
def test_every_shipped_file_parses_strictly(path):
    configure([path.name], [])


def test_the_real_game_is_set_as_in_the_original():
    configure(["random_play.gin"], [])
    settings = find_game("pong").settings_dict()
    del settings["emulator"]
    assert settings == {
        "frame_skip": 4,
        "resize_factor": 2,
        "grayscale": False,
        "noop_range": (1, 8),
        "sticky_probability": 0.0,
    }
    assert gin.query_parameter("collect_random_play.num_interactions") == 6400


def test_a_path_wins_over_a_shipped_name(tmp_path, monkeypatch):
    mine = tmp_path / "atari.gin"
    mine.write_text("AtariSettings.frame_skip = 3\n")
    monkeypatch.chdir(tmp_path)
    configure(["atari.gin"], [])
    assert find_game("pong").settings_dict()["frame_skip"] == 3


def test_a_user_s_file_can_include_a_shipped_one(tmp_path, capfd):
    mine = tmp_path / "mine.gin"
    mine.write_text("include 'atari.gin'\nAtariSettings.grayscale = True\n")
    configure([str(mine)], ["AtariSettings.frame_skip = 2"])
    settings = find_game("pong").settings_dict()
    assert (settings["grayscale"], settings["frame_skip"]) == (True, 2)
    assert capfd.readouterr().err == ""


def test_a_missing_file_is_answered_with_those_that_exist():
    with pytest.raises(
        ConfigurationError, match=r"no gin file 'sdd.gin'. Did you mean sd.gin.*\? .*atari.gin"
    ):
        find_gin_file("sdd.gin")


@pytest.mark.parametrize(
    ("binding", "message"),
    [
        ("NoSuchThing.x = 1", "No configurable matching 'NoSuchThing'"),
        ("AtariSettings.frame_skp = 1", "doesn't have a parameter named 'frame_skp'"),
        ("AtariSettings.frame_skip = (", r"bracket .* not closed cannot be read\. Expected"),
    ],
)
def test_a_wrong_binding_is_named(binding, message):
    with pytest.raises(ConfigurationError, match=message):
        configure(["atari.gin"], [binding])


@pytest.mark.parametrize("line", ["FRAMES=abc", "FRAMES=100K", "FRAMES=", "FRAMES 3", "FRAMES='a"])
def test_a_line_that_gin_cannot_read_is_shown_with_what_is_expected(tmp_path, line):
    good = "AtariSettings.frame_skip = %FRAMES"
    mine = tmp_path / "mine.gin"
    mine.write_text(f"{good}\n{line}\n")
    expected = r"cannot be read\. Expected is NAME = value, where a value is a number \(100000\)"
    with pytest.raises(ConfigurationError, match=f"--gin_bindings={line} {expected}"):
        configure(["atari.gin"], [good, line])
    gin.clear_config()
    with pytest.raises(ConfigurationError, match=f"line 2 of .*mine.gin, .*{line}.*{expected}"):
        configure([str(mine)], [])


@pytest.mark.parametrize(
    ("binding", "question"),
    [
        (
            "AtariSettings.frame_skp = 1",
            r"Did you mean AtariSettings.frame_skip or AtariSettings.frame_shape\?",
        ),
        ("AtariSetings.frame_skip = 1", r"Did you mean AtariSettings\?"),
        ("atarisettings.frame_skip = 1", r"Did you mean AtariSettings\?"),
        ("final/AtariSetings.frame_skip = 1", r"Did you mean (final/)?AtariSettings\?"),
        ("AtariSettings.frame_skip = @collect_random_ply()", r"Did you mean collect_random_play\?"),
    ],
)
def test_what_may_have_been_meant_is_asked(binding, question):
    with pytest.raises(ConfigurationError, match=question):
        configure(["atari.gin"], [binding])


def test_runtime_objects_are_not_suggested():
    with pytest.raises(ConfigurationError) as caught:
        configure([], ["collect_random_play.sed = 1"])  # `seed` is a flag, not a setting.
    assert "Did you mean" not in str(caught.value)


def test_a_macro_that_nothing_uses_is_a_slip(tmp_path):
    mine = tmp_path / "mine.gin"
    mine.write_text("FRAMES = 3\nUNUSED = 1\nAtariSettings.frame_skip = %FRAMES\n")
    configure(["atari.gin", str(mine)], ["FRAMES = 2"])
    assert find_game("pong").settings_dict()["frame_skip"] == 2
    gin.clear_config()
    with pytest.raises(ConfigurationError, match=r"uses the macro FRAME;.*Did you mean FRAMES\?"):
        configure([str(mine)], ["FRAME = 2"])


def test_the_value_of_a_macro_is_what_is_bound():
    configure(["smoke.gin"], ["K = 3", "build_world_model.num_input_frames = %K"])
    assert bound_value("build_world_model.num_input_frames") == 3
    assert bound_value("Schedule.iterations") == 2
    with pytest.raises(ValueError, match="no bound parameters"):
        bound_value("collect_random_play.num_slots")


@pytest.mark.parametrize("name", ["ppo_baselines.gin", "rainbow.gin"])
def test_networks_that_compute_in_one_precision_say_so(name):
    configure([name], ['compute_precision.policy = "mixed_bfloat16"'])
    with pytest.raises(ValueError, match=r"(Nature|Rainbow)Network computes in float32 only"):
        build_policy((4, 84, 84, 1), 3, 0)
