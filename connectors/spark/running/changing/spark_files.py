"""The files of a checkpoint of Spark's: which batches have ended, and the texts that say where the next one begins.

They are read and written through Hadoop's file systems, as Spark itself does, so that checksums beside them stay true.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tidelog.connectors.lake.places import uri_of
from tidelog.connectors.spark.running.outputs.folders import replace_remote
from tidelog.plans.diagnostics.errors import ConnectorError

_VERSION = "v1"


class SparkFiles:
    """A folder that is a checkpoint of Spark's, or may become one."""

    def __init__(self, spark: Any, path: str) -> None:
        self.uri, self._spark = uri_of(path), spark
        self._java = spark.sparkContext._jvm
        self._settings = spark.sparkContext._jsc.hadoopConfiguration()
        self._files = self._path("").getFileSystem(self._settings)

    def _path(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(f"{self.uri}/{name}" if name else self.uri)

    def last(self, log: str) -> int | None:
        """The number of the last batch in the log `offsets`, which have begun, or `commits`, which have ended."""
        folder = self._path(log)
        if not self._files.exists(folder):
            return None
        names = [each.getPath().getName() for each in self._files.listStatus(folder)]
        return max((int(name) for name in names if name.isdecimal()), default=None)

    def exists(self, name: str) -> bool:
        """Whether there is such a file or folder."""
        return bool(self._files.exists(self._path(name)))

    def lines(self, name: str) -> list[str]:
        """The lines of a log's file behind its version; ConnectorError where it is of a version that is not known."""
        stream = self._files.open(self._path(name))
        try:
            text = str(self._java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()
        version, *found = text.splitlines()
        if version != _VERSION:
            raise ConnectorError(f"`{self.uri}/{name}` is of version `{version}`, and tidelog knows `{_VERSION}`")
        return found

    def write(self, name: str, lines: list[str]) -> None:
        """Put a log's file in the place of what is there."""
        self._files.delete(self._path(f"{name}.crc"), False)  # where Spark keeps a checksum of its own
        folder, _, last = name.rpartition("/")
        new = self._path(f"{folder}/.{last}.new".lstrip("/"))
        replace_remote(self._spark, new, self._path(name), "\n".join([_VERSION, *lines]))

    def remove(self, name: str) -> None:
        """Let a file or folder go, if it is there."""
        self._files.delete(self._path(name), True)

    def copy(self, other: SparkFiles, name: str) -> None:
        """Put what another folder has under a name in the place of what is here."""
        self.remove(name)
        if other.exists(name):
            copy = self._java.org.apache.hadoop.fs.FileUtil.copy
            copy(other._files, other._path(name), self._files, self._path(name), False, True, self._settings)

    def watermark(self, batch: int) -> int:
        """The watermark (in Spark's time) that a batch was told."""
        return int(msgspec.json.decode(self.lines(f"offsets/{batch}")[0])["batchWatermarkMs"])

    def next_watermark(self, batch: int) -> int:
        """The watermark (in Spark's time) that the batch behind this one is told."""
        return int(msgspec.json.decode(self.lines(f"commits/{batch}")[0])["nextBatchWatermarkMs"])

    def go_on_behind(self, other: SparkFiles, batch: int) -> None:
        """Let the next batch begin where, in another checkpoint, the one behind this batch would have begun.

        Here one batch has ended, which has read nothing of the stream.
        """
        told, ended = other.lines(f"offsets/{batch}"), other.lines(f"commits/{batch}")
        own = msgspec.json.decode(self.lines("offsets/0")[0])
        own["batchWatermarkMs"] = msgspec.json.decode(told[0])["batchWatermarkMs"]
        committed = msgspec.json.decode(self.lines("commits/0")[0])
        committed["nextBatchWatermarkMs"] = msgspec.json.decode(ended[0])["nextBatchWatermarkMs"]
        self.copy(other, "sources")
        self.write("offsets/0", [msgspec.json.encode(own).decode(), *told[1:]])
        self.write("commits/0", [msgspec.json.encode(committed).decode()])
