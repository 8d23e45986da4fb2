"""Messages in files: MCAP logs and ROS bags. One topic makes one table."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown

from .table import NOTES, Table, check_expansion, library
from .text import ROUNDED

JOINT_STATE = ("sensor_msgs/msg/JointState", "sensor_msgs/JointState")
DRAWN = ("foxglove.", "geometry_msgs/Wrench")  # schemas of messages that are no rows of numbers
MEASURED = "joint_states"  # last word of the topic on which ROS drivers publish measurements
CHANNELS = {"q": "position", "v": "velocity", "tau": "effort"}


class Channel(NamedTuple):
    """Messages of one topic for other programs: a name of their schema, the schema as JSON, (time [s], message)."""

    topic: str
    schema: str
    definition: str
    messages: Iterable[tuple[float, Any]]


def write_mcap(path: Path, columns: dict[str, np.ndarray], notes: str, channels: Sequence[Channel] = ()) -> None:
    """Write rows of numbers as JSON on the topic /state, and other channels beside it, in the order of time."""
    properties = {name: {"type": "number"} for name in columns}
    table = json.dumps({"type": "object", "properties": properties})
    rows = (
        (float(row[0]), dict(zip(columns, map(float, row), strict=True))) for row in zip(*columns.values(), strict=True)
    )
    with path.open("wb") as file:
        writer = library("mcap.writer", ".mcap").Writer(file)
        writer.start(library="dalembert")
        streams, schemas = [], {}
        for name, schema, definition, messages in (Channel("/state", "dalembert.State", table, rows), *channels):
            if schema not in schemas:
                schemas[schema] = writer.register_schema(name=schema, encoding="jsonschema", data=definition.encode())
            channel = writer.register_channel(topic=name, message_encoding="json", schema_id=schemas[schema])
            streams.append(_on(channel, messages))
        for t, channel, message in heapq.merge(*streams, key=lambda one: one[0]):
            time = round(t * 1e9)
            writer.add_message(channel_id=channel, log_time=time, publish_time=time, data=json.dumps(message).encode())
        writer.add_metadata(NOTES, {"notes": notes})
        writer.finish()


def _on(channel: int, messages: Iterable[tuple[float, Any]]) -> Iterator[tuple[float, int, Any]]:
    for t, message in messages:
        yield t, channel, message


def read_mcap(path: Path, topic: str | None = None) -> Table:
    """The JSON rows or joint states of one topic."""
    _check_chunks(path)
    with path.open("rb") as file:
        reader = library("mcap.reader", ".mcap").make_reader(file)
        kinds: dict[str, bool] = {}  # topic → whether its messages are joint states
        for schema, channel in _channels(reader):
            if schema is not None and schema.name.startswith(DRAWN):
                continue
            if channel.message_encoding == "json":
                kinds[channel.topic] = False
            elif schema is not None and schema.name in JOINT_STATE:
                kinds[channel.topic] = True
        chosen, log = choose(path, kinds, topic)
        rows, stamps = [], []
        for _, _, message in reader.iter_messages(topics=[chosen]):
            if kinds[chosen]:
                state = message_types().deserialize_cdr(message.data, JOINT_STATE[0])
                rows.append(_joint_state(path, state))
            else:
                rows.append(_json_row(path, message.data))
            stamps.append(message.log_time)
        notes = [m.metadata.get("notes", "") for m in reader.iter_metadata() if m.name == NOTES]
    return _table(path, rows, stamps, log, notes[0] if notes else "")


def read_bag(path: Path, topic: str | None = None) -> Table:
    """The joint states of one topic of a ROS 1 bag or a ROS 2 bag folder."""
    reader = library("rosbags.highlevel", "a bag").AnyReader
    with reader([path], default_typestore=message_types()) as bag:
        kinds = {c.topic: True for c in bag.connections if c.msgtype in JOINT_STATE}
        chosen, log = choose(path, kinds, topic)
        connections = [c for c in bag.connections if c.topic == chosen]
        rows, stamps = [], []
        for connection, stamp, data in bag.messages(connections=connections):
            rows.append(_joint_state(path, bag.deserialize(data, connection.msgtype)))
            stamps.append(stamp)
    return _table(path, rows, stamps, log, "")


def choose(path: Path, topics: Mapping[str, bool], wanted: str | None) -> tuple[str, tuple[str, ...]]:
    """The topic to read, and the note that says so if there was a choice.

    topics: those that can be read, each with whether it carries joint states.
    """
    if wanted is not None:
        if wanted not in topics:
            raise unknown("topic", wanted, topics, str(path))
        return wanted, ()
    if not topics:
        raise DalembertError(f"{path}: no joint states in it; expected JSON rows or sensor_msgs/JointState messages")
    if len(topics) == 1:
        return next(iter(topics)), ()
    measured = [name for name, states in topics.items() if states and name.rpartition("/")[2] == MEASURED]
    if len(measured) == 1:
        others = ", ".join(name for name in topics if name != measured[0])
        return measured[0], (f"topic {measured[0]} is read; {others} left out",)
    raise DalembertError(f"{path}: several topics could be meant: {', '.join(topics)}: give topic=…, one of them")


def message_types() -> Any:
    typesys = library("rosbags.typesys", "a log of ROS messages")
    return typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)


def _channels(reader: Any) -> list[tuple[Any, Any]]:
    """(schema, channel) of a log, from its summary or, if it was cut short, from its messages."""
    summary = reader.get_summary()
    if summary is not None and summary.channels:
        return [(summary.schemas.get(channel.schema_id), channel) for channel in summary.channels.values()]
    return list({channel.id: (schema, channel) for schema, channel, _ in reader.iter_messages()}.values())


def _check_chunks(path: Path) -> None:
    """Raise before unpacking if the chunks of a log say that they expand beyond measure."""
    records, stream = library("mcap.records", ".mcap"), library("mcap.stream_reader", ".mcap")
    with path.open("rb") as file:
        reader = stream.StreamReader(file, emit_chunks=True)
        check_expansion(path, sum(r.uncompressed_size for r in reader.records if isinstance(r, records.Chunk)))


def _joint_state(path: Path, state: Any) -> dict[str, Any]:
    """One sensor_msgs/JointState as a row; its time in ns, if it has one, as "t"."""
    names = list(state.name)
    row: dict[str, Any] = {}
    if stamp := state.header.stamp.sec * 1_000_000_000 + state.header.stamp.nanosec:
        row["t"] = np.datetime64(int(stamp), "ns")
    for kind, attribute in CHANNELS.items():
        values = getattr(state, attribute)
        if len(values) not in (0, len(names)):
            raise DalembertError(f"{path}: a message has {len(names)} names and {len(values)} numbers of {attribute}")
        row.update(_named(path, [f"{kind}.{name}" for name in names], map(float, values)) if len(values) else {})
    return row


def _json_row(path: Path, data: bytes) -> dict[str, Any]:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        return _named(path, [name for name, _ in items], [value for _, value in items])

    row = json.loads(data, object_pairs_hook=pairs, parse_float=_number)
    if not isinstance(row, dict):
        raise DalembertError(f"{path}: a message is a {type(row).__name__}, expected an object of named numbers")
    return {name: value for name, value in row.items() if isinstance(value, int | float | Decimal)}


def _number(text: str) -> float | Decimal:
    number = float(text)
    return Decimal(text) if ROUNDED <= abs(number) < float("inf") else number


def _named(path: Path, names: list[str], values: Iterable[Any]) -> dict[str, Any]:
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DalembertError(f"{path}: a message names {twice!r} twice: either value could be meant")
    return dict(zip(names, values, strict=True))


def _table(path: Path, rows: list[dict[str, Any]], stamps: list[int], log: tuple[str, ...], notes: str) -> Table:
    if not rows:
        raise DalembertError(f"{path}: no messages on the topic")
    names = list(dict.fromkeys(name for row in rows for name in row))
    if all("t" in row for row in rows):
        columns = {"t": np.array([row["t"] for row in rows])}
    elif "time" in names or "timestamp" in names:
        columns = {}
    else:
        columns = {"t": np.array(stamps, "datetime64[ns]")}
        log = (*log, "messages carry no time stamp: the times of recording are used")
    for name in names:
        if name not in columns:
            columns[name] = _column([row.get(name, np.nan) for row in rows])
    return Table(columns, notes, log=log)


def _column(values: list[Any]) -> np.ndarray:
    if any(isinstance(value, Decimal) for value in values):
        return np.array([Decimal(value) for value in values], object)
    if all(isinstance(value, int) for value in values) and max(map(abs, values)) >= ROUNDED:
        return np.array(values, np.int64)
    return np.array(values, float)
