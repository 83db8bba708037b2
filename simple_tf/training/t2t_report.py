"""What the importer tells its user."""

from __future__ import annotations

from pathlib import Path

from simple_tf.training.t2t_comparison import Comparison
from simple_tf.training.t2t_import import Imported


def describe_import(imported: Imported, directory: Path) -> list[str]:
    """Returns lines that say what was imported and where every variable went."""
    step = "" if imported.global_step is None else f", step {imported.global_step}"
    lines = [f"{imported.kind} network of {imported.source}{step}"]
    lines += [f"  {name}: {value}" for name, value in imported.arguments.items()]
    lines.append(f"Mapped: {len(imported.mapped)} variables")
    lines.append(f"Known and unused: {len(imported.unused)} variables")
    for reason in dict.fromkeys(imported.unused.values()):
        lines.append(f"  {reason}:")
        lines += [f"    {name}" for name, theirs in imported.unused.items() if theirs == reason]
    if imported.absent:
        lines.append(
            f"Not in the checkpoint: {len(imported.absent)} variables that infer the latent from "
            "target frames in training; simulation does not need them, ours are untrained"
        )
        lines += [f"    {name}" for name in imported.absent]
    return [*lines, f"Written to {directory}"]


def describe_comparison(comparison: Comparison, tolerance: float) -> tuple[list[str], bool]:
    """Returns lines about every tensor, and whether all are within the tolerance."""
    checks, unchecked = comparison.checks(), comparison.unchecked()
    failures = [check for check in checks if not check.passes(tolerance)]
    lines = [
        f"Verification with {comparison.recording.path}",
        "Relative error: largest absolute error / largest magnitude in the recorded tensor. For",
        "choices (bits, pixel values, rewards): how far our logits are from choosing the same.",
        "      absolute  relative  tensor",
    ]
    lines += [
        f"{'ok' if check.passes(tolerance) else 'FAIL':4}  {check.absolute:8.2e}  "
        f"{check.relative:8.2e}  {check.name}"
        for check in checks
    ]
    lines.append(f"Not checked: {len(unchecked)}")
    lines += [f"    {name}" for name in unchecked]
    if not checks:
        lines.append("FAILED: the recording has nothing that could be checked.")
    elif failures:
        lines.append(f"FAILED: {len(failures)} of {len(checks)} exceed {tolerance:g}.")
    else:
        lines.append(f"PASSED: all {len(checks)} are within {tolerance:g}.")
    return lines, bool(checks) and not failures
