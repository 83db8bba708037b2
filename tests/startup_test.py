"""What a user's terminal shows, and what is set, when simple_tf and TensorFlow start."""

import os
import subprocess
import sys


def _run(code, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("TF_ENABLE_ONEDNN_OPTS",)}
    clean.pop("TF_CPP_MIN_LOG_LEVEL", None)
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**clean, **environment},
    )


def test_importing_everything_prints_nothing():
    done = _run("import simple_tf, tensorflow, tf_agents.environments.py_environment")
    assert done.stdout + done.stderr == ""


def test_one_dnn_is_on_unless_the_user_decides_otherwise():
    code = "import os, simple_tf; print(os.environ['TF_ENABLE_ONEDNN_OPTS'])"
    assert _run(code).stdout.strip() == "1"
    assert _run(code, TF_ENABLE_ONEDNN_OPTS="0").stdout.strip() == "0"


def test_only_known_noise_is_filtered_from_the_import():
    code = (
        "import os\n"
        "from simple_tf import _startup\n"
        "with _startup._stderr_without_noise(_startup._IMPORT_NOISE):\n"
        "    os.write(2, b'E0000 Unable to register cuDNN factory: taken\\n')\n"
        "    os.write(2, b'the driver is too old\\n')\n"
    )
    assert _run(code).stderr == "the driver is too old\n"


def test_an_error_during_the_import_is_not_swallowed():
    code = (
        "from simple_tf import _startup\n"
        "try:\n"
        "    with _startup._stderr_without_noise(_startup._IMPORT_NOISE):\n"
        "        raise ImportError('no such library')\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    assert _run(code).stdout.strip() == "no such library"


def test_last_words_are_heard():
    """Of a library that aborts because the processor lacks an instruction, say."""
    code = (
        "import os\n"
        "from simple_tf import _startup\n"
        "with _startup._stderr_without_noise(_startup._IMPORT_NOISE):\n"
        "    os.write(2, b'compiled to use AVX instructions\\n')\n"
        "    os.abort()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode < 0
    assert done.stderr == "compiled to use AVX instructions\n"


def test_importing_the_package_does_not_import_tensorflow():
    code = "import sys, simple_tf; print('tensorflow' in sys.modules)"
    assert _run(code).stdout.strip() == "False"


def test_the_first_compilation_is_silent_and_what_comes_later_is_heard():
    begin = "import simple_tf, tensorflow as tf\nfrom simple_tf.training import devices\n"
    compile_something = (
        "function = tf.function(lambda x: 2.0 * x, jit_compile=True)\n"
        "assert float(function(tf.constant(1.5))) == 3.0\n"
        "tf.print('an error')\n"
    )
    # Otherwise there would be nothing to silence.
    assert "Compiled cluster using XLA" in _run(begin + compile_something).stderr
    quiet = _run(begin + "devices.choose_devices('cpu')\n" + compile_something)
    assert quiet.stderr == "an error\n"


def test_computing_in_parts_is_silent():
    code = (
        "import simple_tf, tensorflow as tf\n"
        "from simple_tf.parts import in_parts\n"
        "from simple_tf.training import devices\n"
        "devices.choose_devices('cpu')\n"
        "def work(x):\n"
        "    return tf.while_loop(lambda x: True, lambda x: x @ x, [x], maximum_iterations=50)[0]\n"
        "both = tf.function(in_parts(work, 2, 'parts', jit_compile=True), autograph=False)\n"
        "for _ in range(5): both(tf.zeros([2, 256, 256]))[1].numpy()\n"
    )
    assert _run(code).stderr == ""
