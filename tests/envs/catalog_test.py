import gin
import pytest

from simple_tf.envs.atari import AtariSource
from simple_tf.envs.catalog import UnknownGameError, find_game
from simple_tf.envs.settings import AtariSettings


@pytest.fixture(autouse=True)
def _clear_gin():
    yield
    gin.clear_config()


def test_atari_by_snake_case_name():
    assert find_game("kung_fu_master") == AtariSource("kung_fu_master", AtariSettings())


def test_gin_sets_the_settings():
    gin.parse_config("AtariSettings.sticky_probability = 0.25")
    assert find_game("pong").settings_dict()["sticky_probability"] == 0.25


@pytest.mark.parametrize(
    "name", ["KungFuMaster", "kung-fu-master", "kung_fu_mastr", "Kung Fu Master"]
)
def test_an_unknown_game_is_answered_with_the_nearest_names(name):
    with pytest.raises(UnknownGameError, match="Did you mean kung_fu_master"):
        find_game(name)


def test_a_name_like_no_other_gets_no_hint():
    with pytest.raises(UnknownGameError, match=r"no game called 'zzzzqq'\. Atari games"):
        find_game("zzzzqq")
