#!/usr/bin/env bash
# Runs a sweep on Kubernetes as an indexed Job:
#   bash launch/kubernetes/run.sh launch/sweeps/paper.ini --image=REGISTRY/simple-tf-gpu:1 --gpus=1 \
#     --parallel=16 [--name=paper] [--namespace=NAME] [--train_flag=FLAG]...
# Build and push the image first, see Containerfile. volume.yaml is applied once, by hand, with the
# storage class of the cluster. --dry_run prints what would be applied.
set -euo pipefail
cd "$(dirname "$0")/../.."
source launch/environment.sh
source launch/sweep_tasks.sh
readonly FOLDER=launch/kubernetes

# The sweep itself, as the file that pods find in /sweep.
config_map() {
  printf 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  labels:\n    app: simple-tf\ndata:\n  sweep.ini: |\n' "$name"
  sed 's/^/    /' "$sweep_file"
}

# A file of this folder with this sweep's names, numbers and image.
rendered() {
  local gpu_line=""
  [ "$gpus" = 0 ] || gpu_line="\\n              nvidia.com/gpu: $gpus"
  sed -e "s|^\\( *name:\\) simple-tf-sweep\$|\\1 $name|" \
    -e "s|^\\( *image:\\) .*|\\1 $image|" \
    -e "s|^\\( *completions:\\) .*|\\1 ${#tasks[@]}|" \
    -e "s|^\\( *parallelism:\\) .*|\\1 $parallel|" \
    -e "s|^\\( *memory: 24Gi\\)\$|\\1$gpu_line|" \
    -e "s|\"--run=|$flags&|" "$FOLDER/$1"
}

manifest() {
  config_map
  echo ---
  rendered job.yaml
}

take_sweep "${1:-}"
shift || true
image="" gpus=0 parallel=2 name="" namespace=""
for argument in "$@"; do
  case "$argument" in
    --image=*) image="${argument#*=}" ;;
    --gpus=*) gpus="${argument#*=}" ;;
    --parallel=*) parallel="${argument#*=}" ;;
    --name=*) name="${argument#*=}" ;;
    --namespace=*) namespace="${argument#*=}" ;;
    --train_flag=*) train_flags+=("${argument#*=}") ;;
    --dry_run) dry_run=1 ;;
    *) die "Not an option: $argument. See the beginning of launch/kubernetes/run.sh." ;;
  esac
done
[ -n "$name" ] || name="simple-tf-$(basename "$sweep_file" .ini | tr '_' '-')"
[[ "$name" =~ ^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$ ]] || die "--name takes small letters, digits, -: '$name'."
[[ "$image" =~ ^[A-Za-z0-9._:/@-]+$ ]] || die "--image=REGISTRY/NAME:TAG is missing or wrong: '$image'."
[[ "$gpus" =~ ^[0-9]+$ && "$parallel" =~ ^[1-9][0-9]*$ ]] || die "--gpus and --parallel take numbers."
kubectl=(kubectl ${namespace:+"--namespace=$namespace"})

use_environment ""
choose_tasks ""
# The pods' own directory is not here to be tried; any other does for the rest.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sweep --check "--output_dir=$scratch"
# In the form in which they stand in the list of a pod's command.
flags=$(printf '"--train_flag=%s", ' ${train_flags[@]+"${train_flags[@]}"})
[ "${#train_flags[@]}" -gt 0 ] || flags=""
if [ -n "$dry_run" ]; then
  manifest
  exit
fi
command -v kubectl >/dev/null || die "There is no kubectl here."
"${kubectl[@]}" get persistentvolumeclaim simple-tf-runs >/dev/null \
  || die "There is no volume for the runs: kubectl apply -f $FOLDER/volume.yaml."
manifest | "${kubectl[@]}" apply --dry-run=server -f - >/dev/null || die "The cluster refuses the job."
manifest | "${kubectl[@]}" apply -f -
rendered reader.yaml | "${kubectl[@]}" apply -f -
echo "watch:  ${kubectl[*]} get pods -l job-name=$name; ${kubectl[*]} logs -f job/$name
fetch:  ${kubectl[*]} cp simple-tf-reader:/runs runs/$name
stop:   ${kubectl[*]} delete job $name (runs save first and stay on the volume; run.sh goes on)"
