"""A real server, asked over real connections."""

import base64
import http.client
import json
import re
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import simple_tf.player
from simple_tf.data.png import decode_frame
from simple_tf.player.api import Api
from simple_tf.player.places import Places
from simple_tf.player.server import AddressError, Server

from ..evaluation.ring import COLUMNS, SHAPE, STACK, RingModel

PAGE = Path(simple_tf.player.__file__).parent / "page.html"
ABOUT = {
    "game": "ring",
    "run": "runs/ring",
    "iteration": 3,
    "interactions": 1000,
    "actions": ["LEFT", "RIGHT"],
    "rollout_length": 25,
    "reward_kind": "likeliest",
}


@pytest.fixture
def serve(make_session, store):
    """Returns a server's address and what it was asked to film, of a model of the ring game."""
    started = []

    def start(model=None, write=None):
        films = []

        def film(comparison):
            films.append(comparison)
            return Path("videos/played_001.mp4")

        places = Places(store.episodes, STACK)
        server = Server()
        running = server.running(Api(make_session(model), places, ABOUT, write or film))
        running.__enter__()
        started.append(running)
        return server.url, films

    yield start
    for running in started:
        running.__exit__(None, None, None)


def ask(url, name, content=None, kind="application/json", body=None):
    """Returns the status and the answer."""
    data = json.dumps(content or {}).encode() if body is None else body
    request = urllib.request.Request(f"{url}api/{name}", data, {"Content-Type": kind})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def picture(url, shape=SHAPE):
    head, data = url.split(",")
    assert head == "data:image/png;base64"
    return decode_frame(base64.b64decode(data), shape)


def test_the_page(serve):
    url, _ = serve()
    with urllib.request.urlopen(url) as answer:
        assert answer.headers.get_content_type() == "text/html"
        assert answer.read() == PAGE.read_bytes()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{url}other")
    assert ask(url, "about") == (200, ABOUT)


def test_a_game_is_played_over_it(serve):
    url, films = serve(RingModel(moves=False))
    status, first = ask(url, "start", {"place": {"iteration": 0, "episode": 1, "step": 9}})
    assert status == 200
    assert first["place"] == {"iteration": 0, "episode": 1, "step": 9}
    assert (first["step"], first["wrong"], first["action"]) == (0, 0.0, None)
    np.testing.assert_array_equal(picture(first["dream"]["frame"]), picture(first["real"]["frame"]))
    for step in range(1, COLUMNS + 5):  # Once round, and on.
        status, after = ask(url, "step", {"action": 1})
        assert (status, after["step"], after["action"]) == (200, step, 1)
    # The real dot has moved away from the dreamed one: 4 pixels there and 4 here are wrong.
    dream, real = picture(after["dream"]["frame"]), picture(after["real"]["frame"])
    assert after["wrong"] == pytest.approx(8 / (12 * 16))
    np.testing.assert_array_equal(picture(after["difference"]) > 0, np.not_equal(dream, real))
    assert picture(after["screen"]).shape == SHAPE
    assert after["real"]["score"] == after["real"]["total"] == after["dream"]["total"] > 0
    assert sum(after["dream"]["probabilities"]) == pytest.approx(1.0)
    assert ask(url, "step", {"chooser": "real", "temperature": 0})[1]["action"] == 1
    assert ask(url, "video") == (200, {"path": "videos/played_001.mp4"})
    assert films[0].horizon == COLUMNS + 5
    assert ask(url, "start", {"kind": "beginning"})[1]["place"]["step"] == STACK - 1


def test_shades_that_nobody_sees_are_not_differences(serve):
    url, _ = serve(RingModel(dims=0.02))  # 250 instead of 255 after a step, 230 after five.
    ask(url, "start")
    after = ask(url, "step", {"action": 1})[1]
    assert (after["wrong"], picture(after["difference"]).max()) == (0.0, 0)
    for _ in range(4):
        after = ask(url, "step", {"action": 1})[1]
    assert after["wrong"] == pytest.approx(4 / (12 * 16))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("step", {"action": 7}, "there is no action 7: they are 0..1"),
        ("step", {"action": "left"}, "an action is a whole number, not 'left'"),
        ("step", {"action": True}, "an action is a whole number, not True"),
        ("step", {"temperature": "hot"}, "a temperature is a number below 1e+06"),
        ("step", {"temperature": 10**400}, "a temperature is a number below 1e+06"),
        ("step", {"temperature": -1}, "a temperature is 0 or more, not -1.0"),
        (
            "step",
            {"chooser": "cat"},
            "'cat' is none of those who can play: dream, real, record",
        ),
        ("start", {"kind": "end"}, "'end' is none of the places anywhere, beginning, reward"),
        ("start", {"place": 3}, "a place has the whole numbers iteration, episode, step"),
        (
            "start",
            {"place": {"iteration": 9, "episode": 0, "step": 5}},
            "iteration 9 has no episode 0 that a dream could start in",
        ),
        ("video", {}, "nothing has been played beside the real game yet"),
        ("dance", {}, "there is nothing called dance"),
    ],
)
def test_what_cannot_be_answered_is_said_in_a_sentence(serve, name, content, sentence):
    url, _ = serve()
    ask(url, "start", {"kind": "beginning"})
    assert ask(url, name, content) == (400, {"error": sentence})
    assert ask(url, "step", {"action": 0})[0] == 200


def test_what_is_no_request_of_the_page(serve):
    url, _ = serve()
    assert ask(url, "about", body=b"{") == (400, {"error": "this is no JSON"})
    assert ask(url, "about", body=b"[1]")[0] == 400
    # A page of another site can send this type, and no other without asking first.
    assert ask(url, "about", kind="text/plain") == (415, {"error": "requests are application/json"})
    assert ask(url, "about", body=b" " * 70000)[0] == 413


def test_many_at_once_are_answered_one_after_the_other(serve):
    url, _ = serve()
    ask(url, "start", {"kind": "beginning"})
    steps = []

    def play():
        for _ in range(10):
            steps.append(ask(url, "step", {"action": 1})[1]["step"])

    threads = [threading.Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(steps) == list(range(1, 41))


def test_one_connection_serves_a_whole_game(serve):
    url, _ = serve()
    connection = http.client.HTTPConnection(url.removeprefix("http://").rstrip("/"))
    for name in ("start", "step", "step"):
        connection.request("POST", f"/api/{name}", b"{}", {"Content-Type": "application/json"})
        socket = connection.sock
        assert json.load(connection.getresponse())["dream"]
        assert connection.sock is socket
    connection.close()


def test_pages_of_other_names_are_not_answered(serve):
    url, _ = serve()
    headers = {"Content-Type": "application/json", "Host": "evil.example:80"}
    request = urllib.request.Request(f"{url}api/about", b"{}", headers)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request)


def test_a_video_that_cannot_be_written(serve):
    def write(comparison):
        raise PermissionError(13, "Permission denied", "videos")

    url, _ = serve(write=write)
    ask(url, "start")
    ask(url, "step", {"action": 0})
    status, answer = ask(url, "video")
    assert status == 400
    assert answer["error"].startswith("the video could not be written: ")
    assert "Permission denied" in answer["error"]


def test_the_work_at_hand_is_done_before_the_server_ends(make_session, store):
    begun, done = threading.Event(), []

    def write(comparison):
        begun.set()
        time.sleep(0.5)
        done.append(comparison)
        return Path("video.mp4")

    server = Server()
    with server.running(Api(make_session(), Places(store.episodes, STACK), ABOUT, write)):
        ask(server.url, "start")
        ask(server.url, "step", {"action": 0})
        threading.Thread(target=lambda: ask(server.url, "video"), daemon=True).start()
        assert begun.wait(10)
    assert len(done) == 1


def test_an_address_that_is_taken(serve):
    url, _ = serve()
    port = int(re.search(r":(\d+)/", url)[1])
    with pytest.raises(
        AddressError, match=rf"Cannot serve at 127\.0\.0\.1:{port}: Address already"
    ):
        Server(port=port)


def test_the_page_and_the_server_speak_of_the_same():
    """The page's script asks for what the server has, and finds what it looks for on the page."""
    page = PAGE.read_text()
    assert set(re.findall(r'ask\("(\w+)"', page)) == {"about", "start", "step", "video"}
    assert set(re.findall(r"\babout\.(\w+)", page)) == set(ABOUT)
    ids = re.findall(r'\bid="([\w-]+)"', page)
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'(?:at|showReward|chart)\("([\w-]+)"', page))
    assert used <= set(ids)
    assert not re.findall(r'(?:src|href)="(?!data:)', page)  # Nothing is loaded from elsewhere.
