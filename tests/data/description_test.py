"""The manifest says to people and programs what a store is about."""

import json

import pytest

from simple_tf.data.description import StoreDescription, read_manifest, write_manifest
from simple_tf.data.errors import StoreError


def test_manifest_round_trip(tmp_path, description):
    write_manifest(tmp_path, description, {1: {"episodes": 2, "steps": 9}, 0: {"episodes": 4}})
    assert read_manifest(tmp_path) == (description, {0: 4, 1: 2})
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_manifest_can_be_read_by_a_person(tmp_path, description):
    write_manifest(tmp_path, description, {0: {"episodes": 2, "steps": 9}})
    fields = json.loads((tmp_path / "manifest.json").read_text())
    assert fields["game"] == "pong"
    assert fields["num_actions"] == 3
    assert fields["iterations"]["0"]["steps"] == 9


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format_version": 1}', '{"game": "x"}'])
def test_a_damaged_manifest_is_as_good_as_none(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    assert read_manifest(tmp_path) is None


def test_a_later_format_is_refused(tmp_path, description):
    write_manifest(tmp_path, description, {})
    path = tmp_path / "manifest.json"
    path.write_text(path.read_text().replace('"format_version": 1', '"format_version": 2'))
    with pytest.raises(StoreError, match="format version 2"):
        read_manifest(tmp_path)


def test_settings_are_compared_as_json_has_them():
    one = StoreDescription("pong", (12, 10, 3), ("NOOP",), {"resize": (2, 2), "sticky": None})
    other = StoreDescription("pong", (12, 10, 3), ("NOOP",), {"resize": [2, 2], "sticky": None})
    assert one == other
    assert one == StoreDescription.from_json(json.loads(json.dumps(one.to_json())))


def test_differences_are_listed():
    one = StoreDescription("pong", (12, 10, 3), ("NOOP",), {"skip": 4, "cap": 100})
    other = StoreDescription("boxing", (12, 10, 1), ("NOOP", "UP"), {"skip": 3, "noops": 8})
    assert one.differences(other) == [
        'action_meanings: ["NOOP"] in the store, ["NOOP", "UP"] now',
        "frame_shape: [12, 10, 3] in the store, [12, 10, 1] now",
        'game: "pong" in the store, "boxing" now',
        "settings.cap: 100 in the store, not set now",
        "settings.noops: not set in the store, 8 now",
        "settings.skip: 4 in the store, 3 now",
    ]
    assert one.differences(one) == []


@pytest.mark.parametrize(
    ("shape", "actions", "message"),
    [((12, 10), ("NOOP",), "must have the shape"), ((12, 10, 3), (), "at least one action")],
)
def test_nonsense_is_refused(shape, actions, message):
    with pytest.raises(ValueError, match=message):
        StoreDescription("pong", shape, actions)
