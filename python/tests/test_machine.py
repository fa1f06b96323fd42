"""Machines: the same value as the file, and every mistake at once."""

from __future__ import annotations

import pickle
from pathlib import Path

import flitway
import pytest
from conftest import ROOT, Cli, same


def test_a_check_is_that_of_the_command_line(cli: Cli) -> None:
    asked = cli("check", "hpp-switch", "--set", "switch.vcs=2", "--traffic", "hotspot(nodes=0, fraction=10%)")
    checked = flitway.Machine("hpp-switch", {"switch.vcs": 2}).check(traffic="hotspot(nodes=0, fraction=10%)")
    assert same(checked.data) == same(asked)
    assert checked["deadlock.free"] is True


def test_a_name_a_path_and_a_text_are_one_machine() -> None:
    path = ROOT / "machines" / "mesh-8x8.toml"
    descriptions = [
        flitway.Machine("mesh-8x8").description,
        flitway.Machine(path).description,
        flitway.Machine.from_text(path.read_text()).description,
        flitway.Machine.from_text(flitway.Machine.builtin()["mesh-8x8"]).description,
    ]
    assert all(description == descriptions[0] for description in descriptions)


def test_what_is_set_later_counts_and_a_copy_is_another_machine() -> None:
    machine = flitway.Machine("hpp-switch", {"switch.vcs": 2})
    other = machine.copy()
    machine.set({"switch.vcs": 1})
    assert machine.check()["machine.description.switch.vcs"] == 1
    assert other.check()["machine.description.switch.vcs"] == 2
    machine.set({"switch.credit.position_bits": 9})
    machine["topology"] = {"kind": "single", "nodes": 8}
    assert machine.check().nodes == 8
    assert pickle.loads(pickle.dumps(machine)).description == machine.description


def test_a_setting_can_be_read() -> None:
    machine = flitway.Machine("hpp-switch", {"switch.vcs": 2})
    assert machine["switch.vcs"] == 2 and machine["topology.kind"] == "single"
    assert machine["topology"]["nodes"] == 16
    with pytest.raises(KeyError, match="no setting `switch.vc`"):
        machine["switch.vc"]


def test_mistakes_are_shown_where_they_are_written_all_at_once_with_codes() -> None:
    with pytest.raises(flitway.MachineError) as raised:
        flitway.Machine("hpp-switch", {"switch.vc": 2, "switch.buffer": 4096, "rails": 0, "switch.vcs": "three"})
    assert [one.code for one in raised.value.diagnostics] == ["FW-M010", "FW-M013", "FW-M016", "FW-M019"]
    first = raised.value.diagnostics[0]
    assert first.help == "did you mean `switch.vcs`?"
    assert first.rendered in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.diagnostics) == (str(raised.value), raised.value.diagnostics)


def test_what_is_wrong_is_not_set_and_what_others_decide_is_checked_later() -> None:
    machine = flitway.Machine("hpp-switch", {"switch.vcs": 2})
    with pytest.raises(flitway.MachineError, match="no setting `vc`"):
        machine.set({"switch.vcs": 1, "switch.vc": 1})
    assert machine.sets == ["switch.vcs=2"]
    machine["topology.kind"] = "mesh"
    with pytest.raises(flitway.MachineError, match=r"topology\.dimensions.* is missing"):
        machine.check()
    machine.set({"topology": {"kind": "single", "nodes": 8}})
    assert machine.check().nodes == 8


def test_a_machine_that_is_not_there_is_an_error_too() -> None:
    for name in ("hpp-swich", "no/such.toml", Path("also.toml")):
        with pytest.raises(flitway.MachineError):
            flitway.Machine(name).check()
    with pytest.raises(flitway.WorkloadError, match="tornadoo"):
        flitway.Machine("torus-8x8").check(traffic="tornadoo")


def test_text_is_quoted_as_toml_wants_it() -> None:
    description = 'a "quoted" \\ line\nand \x7f another, ü'
    assert flitway.Machine("hpp-switch", {"description": description}).description["description"] == description


def test_a_warning_points_at_the_code_of_the_user() -> None:
    machine = flitway.Machine("torus-8x8", {"routing.dateline": False})
    assert [one.code for one in machine.check().warnings] == ["FW-M042"]
    with pytest.warns(flitway.FlitwayWarning, match="cyclic dependence") as caught:
        machine.run(load=0.05, duration="1 us", warm_up="0 us")
    assert Path(caught[0].filename) == Path(__file__)
