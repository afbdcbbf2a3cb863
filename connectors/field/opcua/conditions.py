"""Open alarms as conditions of OPC UA: the fields of their events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from asyncua.common.event_objects import AlarmCondition
from asyncua.ua.object_ids import ObjectIds
from asyncua.ua.uatypes import LocalizedText, NodeId, StatusCode, VariantType

from tidelog.plans.alarms.desk import OpenAlarm
from tidelog.plans.tree.syntax import PriorityName

SEVERITIES: Final[Mapping[PriorityName, int]] = {"critical": 900, "high": 700, "medium": 500, "low": 200}
"""Of 1 to 1000."""
HIDDEN: Final = ("shelved", "suppressed", "out_of_service")
_WORDS: Final = {
    "EnabledState": ("Enabled", "Disabled"),
    "ActiveState": ("Active", "Inactive"),
    "AckedState": ("Acknowledged", "Unacknowledged"),
    "SuppressedState": ("Suppressed", "Unsuppressed"),
    "OutOfServiceState": ("OutOfService", "InService"),
}
"""What the states of two values are called."""
Condition = Any
"""The library's `AlarmCondition`, which gets its fields as it is made."""
make_condition: Callable[..., Condition] = AlarmCondition
make_node_id: Callable[..., NodeId] = NodeId
"""The library's classes, with the types that they take and do not tell."""


def new_condition(node: NodeId, alarm: OpenAlarm) -> Condition:
    """The condition of an alarm, which keeps its node, its name and its severity."""
    event = make_condition(message=alarm.text, severity=SEVERITIES[alarm.priority])
    event.add_property("NodeId", node, VariantType.NodeId)
    event.add_property("ActiveState/TransitionTime", None, VariantType.DateTime)  # as the library has it, it cannot be sent
    event.add_variable("ShelvingState/CurrentState", None, VariantType.LocalizedText)
    event.add_property("ShelvingState/CurrentState/Id", None, VariantType.NodeId)
    event.emitting_node = make_node_id(ObjectIds.Server)
    event.SourceNode, event.SourceName = node, alarm.text
    event.ConditionName, event.BranchId = alarm.alarm, make_node_id()
    event.ConditionClassId = make_node_id(ObjectIds.ProcessConditionClassType)
    event.ConditionClassName = LocalizedText("Process")
    event.Quality, event.LastSeverity = StatusCode(), event.Severity
    return event


def describe(event: Condition, alarm: OpenAlarm | None) -> None:
    """Say in an event what state an alarm is in; None: it is normal."""
    is_shelved = alarm is not None and alarm.shelved_until is not None
    states = {
        "EnabledState": True,
        "ActiveState": alarm is not None and alarm.begins is not None and alarm.ends is None,
        "AckedState": alarm is None or alarm.state not in ("unacknowledged", "returned_unacknowledged"),
        "SuppressedState": alarm is not None and alarm.is_suppressed,
        "OutOfServiceState": alarm is not None and alarm.state == "out_of_service",
    }
    for name, holds in states.items():
        setattr(event, name, LocalizedText(_WORDS[name][0 if holds else 1]))
        setattr(event, f"{name}/Id", holds)
    if alarm is not None and alarm.timeline.unit is not None:
        setattr(event, "ActiveState/TransitionTime", alarm.ends_at or alarm.begins_at)
    shelf = "TimedShelved" if is_shelved else "Unshelved"
    setattr(event, "ShelvingState/CurrentState", LocalizedText(shelf))
    setattr(event, "ShelvingState/CurrentState/Id", make_node_id(getattr(ObjectIds, f"ShelvedStateMachineType_{shelf}")))
    event.SuppressedOrShelved = alarm is not None and alarm.state in HIDDEN
    event.Retain = alarm is not None
    deeds = () if alarm is None else (*alarm.acknowledged, *alarm.shelved, *alarm.removed)
    last = max(deeds, key=lambda deed: deed.at, default=None)
    event.Comment = LocalizedText("" if last is None else last.comment)
    event.ClientUserId = "" if last is None else last.who
