"""Topics of Kafka as Spark reads and writes them: what a SPEC names, and what Spark's own connector is told of it.

That connector is a jar, which the user brings: `--packages org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.suggestions import suggest

FORM = "kafka:HOST:PORT/TOPIC"
"""What a SPEC looks like, for messages; several brokers, or topics that are read, have commas between them."""
FORMATS = ("jsonl", "facts")
"""What the value of a record may be: a fact as a line of this format."""

_PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13"
_PROVIDER = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
_SPEC = re.compile(r"(?:([a-z]+)\+)?kafka:(?://)?([^/?]*)(?:/([^?]*))?(?:\?(.*))?\Z", re.DOTALL)
_BROKER = re.compile(r"[A-Za-z0-9.-]+:\d{1,5}|\[[0-9A-Fa-f:.]+\]:\d{1,5}")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_READS = ("start", "map", "config")
_WRITES = ("key", "config")


@dataclass(frozen=True, slots=True)
class Topics:
    """Topics of a cluster: `brokers` and `names` with commas between them, the `format` of values, and options by name."""

    brokers: str
    names: str
    format: str
    options: Mapping[str, str]


def is_kafka(spec: str) -> bool:
    """Whether a SPEC names topics."""
    return _SPEC.match(spec) is not None


def parse_topics(spec: str, *, written: bool) -> Topics:
    """A SPEC taken apart; SpecError for one that is not `KAFKA:HOST:PORT/TOPIC` with options that are known.

    >>> parse_topics("kafka:k1:9092,k2:9092/plant?start=latest", written=False)
    Topics(brokers='k1:9092,k2:9092', names='plant', format='jsonl', options={'start': 'latest'})
    """
    found = _SPEC.match(spec)
    if found is None:
        raise SpecError(f"`{spec}`: expected `{FORM}`")
    kind, brokers, names, told = found[1] or "jsonl", found[2], found[3] or "", found[4] or ""
    if kind not in FORMATS:
        raise SpecError(f"`{spec}` has the format `{kind}`: records hold facts as {' or '.join(FORMATS)}")
    if wrong := next((each for each in brokers.split(",") if _BROKER.fullmatch(each) is None), None):
        raise SpecError(f"`{spec}`: expected a broker as `HOST:PORT`, got `{wrong}`: a topic is named by `{FORM}`")
    topics = names.split(",")
    if not brokers or any(_TOPIC.fullmatch(each) is None for each in topics):
        raise SpecError(f"`{spec}` names no topic: expected `{FORM}`")
    if written and len(topics) > 1:
        raise SpecError(f"`{spec}`: answers go to one topic: give a sink of its own to each")
    return Topics(brokers, names, kind, _options(spec, told, _WRITES if written else _READS))


def _options(spec: str, text: str, known: tuple[str, ...]) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in text.split("&") if text else ():
        name, _, value = part.partition("=")
        if name not in known:
            raise SpecError(
                f"`{spec}` has an unknown option `{name}`: the options are {', '.join(known)}{suggest(name, known)}"
            )
        if not value or name in options:
            raise SpecError(f"`{spec}`: `{name}` is told once, as `{name}=VALUE`")
        options[name] = unquote(value)
    if options.get("start", "earliest") not in ("earliest", "latest"):
        raise SpecError(f"`{spec}`: `start` is `earliest` or `latest`, got `{options['start']}`")
    if "config" in options:
        client_settings(options["config"])
    return options


def client_settings(path: str) -> dict[str, str]:
    """What a file of Kafka's own says, as its tools take it (`security.protocol=SASL_SSL`), as options of Spark's connector.

    SpecError where it cannot be read, or a line says nothing.
    """
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"cannot read `{path}`: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise SpecError(f"`{path}` line {number}: expected `NAME=VALUE`, as Kafka's own tools take it")
        found[f"kafka.{name.strip()}"] = value.strip()
    return found


def cluster_options(topics: Topics) -> dict[str, str]:
    """What reading and writing are told alike: how the cluster is reached."""
    config = topics.options.get("config")
    return {**({} if config is None else client_settings(config)), "kafka.bootstrap.servers": topics.brokers}


def need_connector(spark: Any) -> None:
    """SpecError, with the package, where Spark's connector is not there."""
    jvm = spark.sparkContext._jvm
    if jvm is not None and not jvm.org.apache.spark.util.Utils.classIsLoadable(_PROVIDER):
        raise SpecError(f"Spark's connector to Kafka is missing: name its package, `--packages {_PACKAGE}:{spark.version}`")
