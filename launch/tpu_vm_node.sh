#!/usr/bin/env bash
# On the TPU VM: installs beside the TensorFlow of the image, looks whether the TPU is there, and
# runs the sweep in tmux. Called by tpu_vm.sh:
#   bash simple_tf/launch/tpu_vm_node.sh SWEEP.ini [--tasks=FIRST-LAST]
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh
source launch/sweep_tasks.sh
take_sweep "${1:-}"
shift

# Only the image's TensorFlow can use the TPU. It is of the pinned version, so that pip keeps it.
export PYTHON=python3 SIMPLE_TF_VENV_OPTIONS=--system-site-packages
use_environment ""
"$SIMPLE_TF_PYTHON" -c 'import simple_tf, tensorflow as tf
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
print(len(tf.config.list_logical_devices("TPU")), "TPU cores")' \
  || die "TensorFlow cannot use the TPU. Was its own version replaced? See pip list -v in .venv."

if tmux has-session -t simple_tf 2>/dev/null; then
  die "A sweep is running in tmux already: tmux attach -t simple_tf. Stop it first."
fi
tmux new-session -d -s simple_tf "SIMPLE_TF_PYTHON=$SIMPLE_TF_PYTHON bash launch/node_sweep.sh \
$sweep_file --train_flag=--strategy=tpu $* >>sweep.log 2>&1"
echo "running in tmux; log: $PWD/sweep.log"
