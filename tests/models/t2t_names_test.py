"""Our variables are the original's, one to one."""

import pytest

from simple_tf.models.t2t_names import t2t_name


@pytest.mark.parametrize("tag", ["det_h16", "sd_h16", "rec_h16"])
def test_our_variables_are_exactly_those_the_original_trains(golden, tag):
    recorded = golden(tag)
    assert len(recorded.variables) == len(recorded.model.trainable_variables)
    ours, trained = set(recorded.variables), set(recorded.data["train/cfg0/grad__names"].tolist())
    # With one target frame the original makes a table of target actions but never reads it.
    never_read = {name for name in ours if "/target_action/" in name} if tag == "det_h16" else set()
    assert ours == trained | never_read


def test_a_variable_without_a_counterpart_is_named():
    with pytest.raises(ValueError, match="'extra/kernel' has no counterpart"):
        t2t_name("extra/kernel", "recurrent", 6, 3, 16)
