import collections
import dataclasses

import numpy as np
import pytest

from simple_tf.player.places import Place, Places

K = 4


def draws(store, kind, count=400):
    places = Places(store.episodes, K)
    return [places.draw(kind) for _ in range(count)], places


def test_anywhere_is_every_moment_with_frames_before_and_a_step_after(store):
    found, places = draws(store, "anywhere", 3000)
    possible = {
        Place(*episode.key, step)
        for episode in store.episodes
        for step in range(3, len(episode.actions))
    }
    assert set(found) <= possible
    assert len(set(found)) > 0.9 * len(possible)  # 3,000 draws of about 960.
    for place in found[:50]:
        assert places.episode_of(place).key == place[:2]


def test_beginnings_are_the_first_moments_of_all_episodes(store):
    found, _ = draws(store, "beginning")
    assert {place.step for place in found} == {K - 1}
    assert {place[:2] for place in found} == {episode.key for episode in store.episodes}


def test_ten_steps_after_such_a_moment_something_is_earned_or_lost(store):
    found, places = draws(store, "reward")
    for place in found:
        rewards = places.episode_of(place).rewards
        assert rewards[place.step + 10] or (place.step == K - 1 and rewards[: K + 10].any())
    assert any(place.step > K - 1 for place in found)


def test_the_same_seed_draws_the_same(store):
    first, again = draws(store, "anywhere", 5)[0], draws(store, "anywhere", 5)[0]
    assert first == again
    assert max(collections.Counter(first).values()) < 5
    other = Places(store.episodes, K, seed=1)
    assert [other.draw("anywhere") for _ in range(5)] != first


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (Place(7, 0, 5), "iteration 7 has no episode 0"),
        (Place(0, 0, 2), r"step 2 is outside 3\.\.149"),
        (Place(0, 0, 150), r"step 150 is outside 3\.\.149"),
    ],
)
def test_places_that_are_not_there(store, place, message):
    with pytest.raises(ValueError, match=message):
        Places(store.episodes, K).episode_of(place)


def test_wishes_that_cannot_be_met(store):
    with pytest.raises(ValueError, match="'end' is none of the places anywhere, beginning, reward"):
        Places(store.episodes, K).draw("end")
    quiet = [dataclasses.replace(e, rewards=np.zeros(e.num_steps)) for e in store.episodes]
    with pytest.raises(ValueError, match="nothing has been earned or lost"):
        Places(quiet, K).draw("reward")
    with pytest.raises(ValueError, match="no episode has the 500 frames"):
        Places(store.episodes, 500)
