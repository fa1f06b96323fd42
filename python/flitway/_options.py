"""The options of workloads. Made by `cargo xtask gen` from the table that the reader uses; do not edit."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypedDict, Union

_File = Union[str, "os.PathLike[str]"]


class WorkloadOptions(TypedDict, total=False):
    """The options of a workload, as on the command line with ``_`` for ``-``.

    Quantities are text with a unit, loads text or numbers. Which kind of workload is meant follows from the options
    that are given; without any it is uniform traffic at nine loads.
    """

    traffic: str
    """To whom: uniform (unless given), transpose, hotspot(nodes=0+5, fraction=10%), ... (see `flitway list`);
    `uniform(reply=64B)` has each packet answered."""

    packet: str
    """How large: 256B (unless given, or the MTU if that is less), bimodal(64B, 1KiB, 20%), range(8B, 1KiB),
    file(sizes.txt)."""

    arrival: str
    """When: bernoulli (unless given), exponential, bursts(...), periodic, saturating."""

    load: str | float | Iterable[float]
    """Offered load as a fraction of a node's injection rate: one (0.3), a range (0.1..0.9:0.1, unless given), several
    of both (0.1,0.3..0.9:0.2), or `max` alone (sources that always have a packet)."""

    outstanding: int
    """Packets of a node that may be under way without their replies, with a pattern that is answered, such as
    `uniform(reply=64B)`; any number unless given. With `--load max` a node sends one for each reply. NIC operations of
    a process that are under way."""

    precision: str | float
    """Run each point until the 95 % confidence interval of the mean latency is this narrow (either side); 2% unless
    given."""

    warm_up: str
    """Warm-up in simulated time, instead of finding it from the data."""

    duration: str
    """Simulated time to measure after the warm-up, instead of running to the precision; without --warm-up at least this
    long, since a warm-up is found in twenty fiftieths of it or more."""

    faults: _File
    """What breaks when, on machines whose links retry: rules such as down(link="switch 5 port 7", at=20us), joined by
    `;`, or a file with one a line (`flitway list faults`). Times count from the start of each point. Status 1 if
    packets are lost for good."""

    graph: _File | Iterable[_File]
    """Run a task graph (GOAL text, plain or gzip; `-`: from standard input), beside synthetic traffic if a --load is
    given, and beside multicasts, barriers and a train; several run side by side."""

    placement: _File | Iterable[_File]
    """Where ranks run: linear (unless given), random, block(switches), cyclic(groups), ..., on nodes that no graph
    before has (`flitway list placements`), or a file with a node number for each rank; one for all graphs, or one for
    each."""

    multicast: str
    """Among whom: broadcast, random(members=16, groups=16), nodes(0+4+8-15); with worms fresh(receivers=4)."""

    multicast_load: str | float | Iterable[float]
    """Copies to be delivered as a fraction of what the nodes can receive: 0.1 (unless given), several, a range,
    `max`."""

    multicast_packet: str
    """How large: 256B (unless given, or the MTU if that is less) and whatever --packet takes."""

    by: str
    """How: hardware (unless given), ranges, sequence, binomial, postal; of barriers: hardware (unless given),
    node-root, three-trips, conditional, central-counter, pairwise."""

    root: str
    """By way of which root of the tree: table (unless given), random, llp, llp-ec, hlse."""

    staleness: str
    """How old the load of switches becomes that llp, llp-ec and hlse know: 50 us unless given."""

    overheads: bool
    """Nodes spend nic.send_overhead and nic.receive_overhead on each packet of an operation, of barriers also on each
    arrival and release."""

    multicast_by: str
    """How multicasts are carried out beside barriers, a task graph or a train, instead of --by."""

    barrier: str
    """Among whom: all, random(members=16, groups=16), nodes(0+4+8-15)."""

    interval: str
    """From the beginning of a barrier to that of the next in its group, if it is over by then: 50 us unless given."""

    imbalance: str
    """Each process is late by a random time of up to so much: 0 us unless given."""

    lose: str | Iterable[str]
    """Lose a barrier packet: combine(at=switch 5 port 7, group=3, nth=2), any(at=node 12); as often as needed."""

    barrier_by: str
    """How, beside multicasts, a task graph or a train, instead of --by."""

    nic: str
    """An operation of NICs between two nodes: put(0-1), get(...), send(...), remote-load(...), remote-store(...),
    fetch-add(...), or of many, lock(0-15), barrier(0-15), broadcast(0-15), reduce(0-15), gather(0-15), thread(0-15,
    program=FILE); with queue=... or by=..., as the NIC has it, reliable=yes, match=N (flitway explain put); its
    latency, bandwidth and rate, and where the time goes."""

    size: str
    """Data of each: one size, several (8B,1KiB), or a range that doubles (8B..4MiB); 8B unless given."""

    processes: int
    """Processes of each of the two nodes, each with a processor and queues of its own; 1 unless given."""

    train: str
    """Send packets from one node to another, all at once: 0-15; beside synthetic traffic if a --load is given, and
    beside multicasts, barriers and task graphs."""

    count: int
    """How many: 10000 unless given; of NIC operations 10 for each process, 1000 with --outstanding, --load or
    --faults."""


WorkloadOptions.__module__ = "flitway"

# What joins the values of an option to one text.
SEPARATORS = {"graph": "\n", "placement": "\n", "lose": "; "}
