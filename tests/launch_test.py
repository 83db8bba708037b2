"""The launch scripts, up to the door of the machines that are not here.

`nvidia-smi`, `sbatch`, `scontrol` and `gcloud` are stood in for by scripts that write down how they
were called. So are the two things that take long, checking a sweep and training, which have tests
of their own: the rest of `python -m simple_tf.sweep` is the real one.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAUNCH = ROOT / "launch"
SCRIPTS = sorted([*LAUNCH.rglob("*.sh"), *(ROOT / "tests").rglob("*.sh")])

# As pip installs it, beside Python, or as the system has it.
SHELLCHECK = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")

# A run notes that it has begun, waits as long as the test says, and saves when it is told to stop.
PYTHON = f"""#!/bin/bash
case "$*" in
  *--check*) echo "CHECKED $*" ;;
  *--run=*)
    trap 'echo "saved ${{@: -1}}" >>"$CALLS"; exit 143' TERM
    echo "begun $CUDA_VISIBLE_DEVICES ${{@: -1}}" >>"$CALLS"
    for _ in $(seq "$TENTHS"); do sleep 0.1; done ;;
  *) exec {sys.executable} "$@" ;;
esac
"""
SWEEP = """
[sweep]
games = pong freeway
seeds = 0 1
output_dir = runs/launch_test
[smoke]
gin_files = smoke.gin
"""


class Machine:
    """A folder with stand-ins in front of everything else on the path."""

    def __init__(self, folder):
        self.folder = folder
        self.sweep = folder / "two_games.ini"
        self.sweep.write_text(SWEEP)
        self.calls = folder / "calls"
        self.calls.touch()
        self.has("python", PYTHON)
        self.environment = {
            **os.environ,
            "PATH": f"{folder}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "SIMPLE_TF_PYTHON": str(folder / "python"),
            "CALLS": str(self.calls),
            "TENTHS": "0",
            "SIMPLE_TF_LOGS": str(folder / "logs"),
        }

    def has(self, program, text=""):
        path = self.folder / program
        path.write_text(text or f'#!/bin/bash\necho "{program} $*" >>"$CALLS"\n')
        path.chmod(0o755)

    def start(self, script, *arguments, **environment):
        return subprocess.Popen(
            ["bash", str(LAUNCH / script), *map(str, arguments)],
            env=self.environment | environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, script, *arguments, code=0, **environment):
        process = self.start(script, *arguments, **environment)
        printed, errors = process.communicate(timeout=60)
        assert process.returncode == code, printed + errors
        return printed + errors

    def called(self):
        return self.calls.read_text().splitlines()


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def gpus(machine):
    """Three GPUs, of which number 1 is in use."""
    machine.has(
        "nvidia-smi",
        '#!/bin/bash\n[[ "$*" == *memory* ]] && printf "0, 12\\n1, 9000\\n2, 0\\n" || seq 0 2\n',
    )
    return machine


@pytest.mark.skipif(not SHELLCHECK, reason="shellcheck is not installed")
def test_shellcheck_finds_nothing():
    assert len(SCRIPTS) > 8
    done = subprocess.run(
        [SHELLCHECK, *SCRIPTS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "script",
    ["node_sweep.sh", "gpu.sh", "slurm_sweep.sh", "kubernetes/run.sh", "tpu_vm.sh"],
)
def test_mistakes_are_refused_at_once(machine, script):
    action = ["start"] if script == "tpu_vm.sh" else []
    assert "There is no sweep nothing.ini" in machine.run(script, *action, "nothing.ini", code=2)
    printed = machine.run(script, *action, machine.sweep, "--misspelt=1", code=2)
    assert "Not an option: --misspelt=1" in printed
    assert "CHECKED" not in printed


def test_a_dry_run_shows_the_real_commands(machine):
    printed = machine.run("node_sweep.sh", "two_games.ini", "--dry_run", "--tasks=1-2")
    assert re.search(r"CHECKED .*--file=\S*two_games.ini --check", printed)
    commands = [shlex.split(line) for line in printed.splitlines() if "simple_tf.train" in line]
    assert [command[4:6] for command in commands] == [
        ["--game=freeway", "--seed=0"],
        ["--game=pong", "--seed=1"],
    ]
    assert not machine.called()


@pytest.mark.parametrize("tasks", ["3-4", "2-1", "x"])
def test_runs_that_do_not_exist_are_refused(machine, tasks):
    assert "--tasks" in machine.run("node_sweep.sh", machine.sweep, f"--tasks={tasks}", code=2)


def test_two_workers_share_the_runs(machine):
    printed = machine.run("node_sweep.sh", machine.sweep, "--parallel=2", TENTHS="3")
    assert sorted(machine.called()) == [f"begun  --run={number}" for number in range(4)]
    assert printed.count("ended") == 4
    assert "watch:" in printed
    assert "stop:" in printed


def test_stopping_lets_runs_save_and_begins_no_other(machine):
    process = machine.start("node_sweep.sh", machine.sweep, "--parallel=2", TENTHS="300")
    while len(machine.called()) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    calls = sorted(machine.called())
    assert calls == ["begun  --run=0", "begun  --run=1", "saved --run=0", "saved --run=1"]
    assert printed.count("(code 143)") == 2


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.05])
def test_stopping_while_the_workers_are_being_started(machine, seconds):
    process = machine.start("node_sweep.sh", machine.sweep, "--parallel=4", TENTHS="600")
    for line in process.stdout:
        if line.startswith("stop: "):
            break
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=50)  # A run that was not told would take longer.
    assert process.returncode != 0
    calls = machine.called()
    begun = {call.split()[-1] for call in calls if call.startswith("begun")}
    saved = {call.split()[-1] for call in calls if call.startswith("saved")}
    assert begun == saved


def test_a_failed_run_does_not_keep_the_others_from_running(machine):
    machine.has("python", PYTHON.replace("for _", '[[ "$*" != *--run=1* ]] || exit 7\nfor _'))
    printed = machine.run("node_sweep.sh", machine.sweep, code=1)
    assert "run 1 was stopped or failed (code 7)" in printed
    assert len(machine.called()) == 4


def test_idle_gpus_are_chosen_and_each_has_one_run_at_a_time(gpus):
    printed = gpus.run("gpu.sh", gpus.sweep, "--dry_run")
    assert re.findall(r"would use GPU (\S+)", printed) == ["0", "2"]
    assert printed.count("simple_tf.train") == 4
    assert "CHECKED" in printed
    assert not gpus.called()
    # The real thing, as far as the question whether TensorFlow sees the GPUs.
    assert "TensorFlow sees no GPU" in gpus.run("gpu.sh", gpus.sweep, code=2)


def test_gpus_can_be_named_and_used_together(gpus):
    printed = gpus.run("gpu.sh", gpus.sweep, "--devices=1,2", "--together", "--dry_run")
    assert re.findall(r"would use GPU (\S+)", printed) == ["1,2"]
    assert printed.count("--strategy=multi_gpu") == 5  # The check, and four runs.
    assert "no GPU 3" in gpus.run("gpu.sh", gpus.sweep, "--devices=3", code=2)


def _path_without(tool, machine):
    """The path with all other programs, also those beside the tool."""
    folders = [Path(folder) for folder in os.environ["PATH"].split(":")]
    others = machine.folder / "others"
    others.mkdir()
    for folder in folders:
        if (folder / tool).exists():
            for program in folder.iterdir():
                if program.name != tool and not (others / program.name).exists():
                    (others / program.name).symlink_to(program)
    kept = [folder for folder in folders if not (folder / tool).exists()]
    return {"PATH": ":".join(map(str, [machine.folder, others, *kept]))}


def test_a_machine_without_gpus_is_told_so_and_can_still_show_what_would_be_done(machine):
    path = _path_without("nvidia-smi", machine)
    assert "There is no nvidia-smi here: no GPU" in machine.run(
        "gpu.sh", machine.sweep, code=2, **path
    )
    printed = machine.run("gpu.sh", machine.sweep, "--dry_run", **path)
    assert "There is no nvidia-smi here; this shows" in printed
    assert "would use GPU (whichever is idle)\n" in printed
    assert printed.count("simple_tf.train") == 4
    printed = machine.run("gpu.sh", machine.sweep, "--dry_run", "--devices=0,3", **path)
    assert re.findall(r"would use GPU (\S+)", printed) == ["0", "3"]


def test_a_machine_without_slurm_is_told_so_and_can_still_show_what_would_be_done(machine):
    path = _path_without("sbatch", machine)
    assert "There is no sbatch here: run this on a login node" in machine.run(
        "slurm_sweep.sh", machine.sweep, code=2, **path
    )
    printed = machine.run("slurm_sweep.sh", machine.sweep, "--dry_run", "--", "--time=9", **path)
    assert "There is no sbatch here; this shows" in printed
    (command,) = [line for line in printed.splitlines() if line.startswith("sbatch ")]
    assert {"--array=0-3", "--time=9", str(machine.sweep)} <= set(shlex.split(command))
    assert not (machine.folder / "logs").exists()


@pytest.fixture
def checkout(tmp_path):
    """A copy of what launching needs, where nothing has been installed or run."""
    copy = tmp_path / "checkout"
    shutil.copytree(LAUNCH, copy / "launch")
    (copy / "simple_tf").symlink_to(ROOT / "simple_tf")
    return copy


@pytest.mark.parametrize("script", ["gpu.sh", "slurm_sweep.sh", "node_sweep.sh"])
def test_a_dry_run_needs_no_sweep_and_no_environment_and_leaves_nothing(gpus, checkout, script):
    def dry_run(python):
        environment = gpus.environment | {"PYTHON": str(python)}
        del environment["SIMPLE_TF_PYTHON"], environment["SIMPLE_TF_LOGS"]
        command = ["bash", str(checkout / "launch" / script), "--dry_run"]
        done = subprocess.run(
            command, env=environment, cwd=checkout, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert {path.name for path in checkout.iterdir()} == {"launch", "simple_tf"}
        assert "as an example: launch/sweeps/smoke.ini" in done.stderr
        assert "would make .venv and install simple_tf" in done.stderr
        return done

    commands = r"checkout/\.venv/bin/python .*smoke"
    complete = dry_run(gpus.folder / "python")
    assert re.search(rf"CHECKED[\s\S]*{commands}", complete.stdout)
    gpus.has("bare_python", f'#!/bin/bash\nexec {sys.executable} -S "$@"\n')
    bare = dry_run(gpus.folder / "bare_python")
    assert re.search(commands, bare.stdout)
    assert "CHECKED" not in bare.stdout
    assert "What follows has not been checked" in bare.stderr
    without = dry_run("/bin/false")
    assert not without.stdout
    assert "simple_tf needs Python 3.10 or 3.11; found neither" in without.stderr


def test_an_environment_that_cannot_be_made_whole_is_not_left_behind(machine, checkout):
    # As on Debian without python3-venv: there is a Python when it fails, and no pip.
    machine.has(
        "half",
        f"""#!/bin/bash
[[ "$*" == *venv* ]] || exec {sys.executable} "$@"
mkdir -p .venv/bin && ln -s {sys.executable} .venv/bin/python; exit 1
""",
    )
    environment = machine.environment | {"PYTHON": str(machine.folder / "half")}
    command = ["bash", str(checkout / "launch" / "local.sh"), "--gin_file=smoke.gin"]
    options = {"env": environment, "cwd": checkout, "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **options)
    assert done.returncode != 0
    assert "install python3-venv first" in done.stderr
    assert not (checkout / ".venv").exists()


def test_an_environment_without_pip_is_named(machine, checkout):
    shutil.copy(ROOT / "setup.py", checkout)
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/bash\n[[ "$*" == *pip* ]] && exit 1\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    command = ["bash", str(checkout / "launch" / "local.sh"), "--gin_file=smoke.gin"]
    options = {"env": machine.environment, "cwd": checkout, "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **options)
    assert done.returncode != 0
    assert f"{checkout}/.venv has no pip" in done.stderr


def test_slurm_is_given_a_job_array_that_can_be_requeued(machine):
    machine.has("sbatch", '#!/bin/bash\necho "sbatch $*" >>"$CALLS"\necho "42;cluster"\n')
    options = ("--parallel=3", "--train_flag=--verbosity=1", "--", "--gres=gpu:1", "--time=1:00:00")
    printed = machine.run("slurm_sweep.sh", machine.sweep, *options)
    assert "scancel 42\n" in printed
    assert "watch:" in printed
    tried, submitted = map(shlex.split, machine.called())
    assert "--test-only" in tried
    assert {"--array=0-3%3", "--requeue", "--gres=gpu:1", "--time=1:00:00"} <= set(submitted)
    assert submitted[-4:] == [
        *("launch/slurm_task.sh", machine.environment["SIMPLE_TF_PYTHON"], str(machine.sweep)),
        "--train_flag=--verbosity=1",
    ]
    # What slurmd would then do.
    assert f"--chdir={ROOT}" in submitted
    task = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_JOB_ID": "42"}
    machine.run("slurm_task.sh", *submitted[-3:], **task)
    assert machine.called()[-1] == "begun  --run=3"


def test_a_job_that_slurm_would_refuse_is_not_submitted(machine):
    machine.has("sbatch", '#!/bin/bash\necho "sbatch $*" >>"$CALLS"\nexit 1\n')
    assert "nothing was submitted" in machine.run("slurm_sweep.sh", machine.sweep, code=2)
    assert len(machine.called()) == 1


@pytest.mark.parametrize(
    ("number", "requeued"),
    # The notice before the time limit comes to the shell alone; a cancelled job's SIGTERM to all.
    [(signal.SIGUSR1, ["scontrol requeue 42_1"]), (signal.SIGTERM, [])],
)
def test_a_task_near_its_time_limit_saves_and_queues_again(machine, number, requeued):
    machine.has("scontrol")
    task = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_JOB_ID": "42"}
    python = machine.environment["SIMPLE_TF_PYTHON"]
    process = machine.start("slurm_task.sh", python, machine.sweep, TENTHS="300", **task)
    while not machine.called():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    if number == signal.SIGTERM:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]), number)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 143, printed + errors
    assert machine.called() == ["begun  --run=1", "saved --run=1", *requeued]


def test_the_tpu_script_shows_what_it_would_do(machine):
    place = ("--name=my-tpu", "--zone=us-central1-a", "--type=v3-8", "--dry_run")
    printed = machine.run("tpu_vm.sh", "start", machine.sweep, *place, "--tasks=0-1", "--spot")
    commands = [line.strip() for line in printed.splitlines() if line.startswith("gcloud")]
    verbs = [command.split()[3:5] for command in commands]
    assert verbs == [
        ["accelerator-types", "describe"],
        *(["tpu-vm", verb] for verb in ("create", "scp", "scp", "ssh", "ssh")),
    ]
    assert all("--zone=us-central1-a" in command for command in commands)
    assert "--version=tpu-vm-tf-2.15.1-pjrt" in commands[1]
    assert "--spot" in commands[1]
    assert "--tasks=0-1" in commands[-1]
    for word in ("CHECKED", "watch:", "fetch:", "stop:", "delete:"):
        assert word in printed


@pytest.mark.parametrize(
    ("action", "command"),
    [
        ("fetch", "scp --recurse --compress my-tpu:simple_tf/runs/launch_test runs --zone=z"),
        ("stop", "ssh my-tpu --command=tmux send-keys -t simple_tf C-c --zone=z"),
        ("delete", "delete my-tpu --zone=z"),
    ],
)
def test_what_the_tpu_script_asks_of_gcloud(machine, action, command):
    machine.has("gcloud")
    machine.run("tpu_vm.sh", action, machine.sweep, "--name=my-tpu", "--zone=z")
    assert machine.called() == [f"gcloud compute tpus tpu-vm {command}"]


def test_the_image_of_the_tpu_has_the_pinned_tensorflow():
    image = re.search(r"IMAGE=tpu-vm-tf-(\S+)-pjrt", (LAUNCH / "tpu_vm.sh").read_text())
    assert f'"tensorflow=={image[1]}"' in (ROOT / "setup.py").read_text()


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--name=My_TPU", "--name takes"),
        ("--zone=", "--zone is missing"),
        ("--type=v3-32", "one host"),
    ],
)
def test_a_tpu_that_cannot_be_asked_for(machine, argument, message):
    place = ("--name=my-tpu", "--zone=z", argument)
    assert message in machine.run("tpu_vm.sh", "start", machine.sweep, *place, code=2)


def _documents(text):
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with kubernetes-validate")
    return list(yaml.safe_load_all(text))


def _validate(document):
    validator = pytest.importorskip("kubernetes_validate")
    validator.validate(document, "1.29", strict=True)


@pytest.mark.parametrize("name", ["job.yaml", "volume.yaml", "reader.yaml"])
def test_kubernetes_files_fit_the_api(name):
    (document,) = _documents((LAUNCH / "kubernetes" / name).read_text())
    _validate(document)
    misspelt = {**document, "specs": {}}
    with pytest.raises(Exception, match="specs"):
        _validate(misspelt)


def test_what_kubernetes_is_given(machine):
    options = ("--image=example.org/simple-tf:1", "--gpus=2", "--parallel=3", "--dry_run")
    flag = "--train_flag=--strategy=multi_gpu"
    printed = machine.run("kubernetes/run.sh", machine.sweep, *options, flag)
    checked, _, manifest = printed.partition("\n")
    assert checked.startswith("CHECKED")
    config_map, job = _documents(manifest)
    for document in (config_map, job):
        _validate(document)
    assert config_map["data"]["sweep.ini"].strip() == SWEEP.strip()
    assert (job["spec"]["completions"], job["spec"]["parallelism"]) == (4, 3)
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == "example.org/simple-tf:1"
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 2
    assert container["command"][-2:] == [flag, "--run=$(JOB_COMPLETION_INDEX)"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["sweep"]["configMap"]["name"] == config_map["metadata"]["name"]
    assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)


def test_the_container_is_made_of_what_is_here():
    text = (LAUNCH / "kubernetes" / "Containerfile").read_text()
    sources = [word for line in re.findall(r"^COPY (.*) \S+$", text, re.M) for word in line.split()]
    assert len(sources) >= 6
    for source in sources:
        assert (ROOT / source).exists(), source


@pytest.mark.parametrize("path", sorted((LAUNCH / "sweeps").glob("*.ini")), ids=lambda p: p.stem)
def test_the_shipped_sweeps_name_what_exists(path):
    from simple_tf.envs.atari import atari_names
    from simple_tf.training.gin_files import find_gin_file
    from simple_tf.training.sweep import read_sweep

    sweep = read_sweep(path)
    assert set(sweep.games) <= set(atari_names())
    for configuration in sweep.configurations:
        for name in configuration.gin_files:
            find_gin_file(name)
    if path.stem == "paper":
        assert (len(sweep.games), len(sweep.seeds)) == (36, 5)
