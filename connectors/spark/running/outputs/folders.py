"""Folders that Spark writes, here or far away, and the small file by which a run knows its own again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JError

from tidelog.connectors.store.syncing import make_folder, replace_file
from tidelog.plans.diagnostics.errors import SpecError

_TABLES = "_tidelog.json"  # what begins so is no table to readers


class Folder(Protocol):
    """A folder that may not be there yet. OSError or Spark's own errors where it cannot be read or written."""

    place: str

    def is_empty(self) -> bool:
        """Whether nothing but hidden files is in it; also where it is not there."""
        ...

    def read(self, name: str) -> str | None:
        """The text of a file; None where there is none."""
        ...

    def write(self, name: str, text: str) -> None:
        """Make a file, all of it or nothing, and the folder, if it is not there."""
        ...


class LocalFolder:
    """A folder of this machine's file system."""

    def __init__(self, path: str) -> None:
        self.place = path
        self._path = Path(path)

    def is_empty(self) -> bool:
        try:
            return all(each.name.startswith(".") for each in self._path.iterdir())
        except FileNotFoundError:
            return True

    def read(self, name: str) -> str | None:
        try:
            return (self._path / name).read_text("utf-8")
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        make_folder(self._path)
        replace_file(self._path / name, text)


def replace_remote(spark: Any, new: Any, path: Any, text: str) -> None:
    """Put a text in the place of a file, all of it or nothing, by a file beside it; both are paths of Hadoop's."""
    gateway, java = spark.sparkContext._gateway, spark.sparkContext._jvm
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    try:
        context = java.org.apache.hadoop.fs.FileContext.getFileContext(path.toUri(), settings)
    except Py4JError:  # a store of objects that has no such: there a file is seen once it is whole
        _write(path.getFileSystem(settings), path, text)
        return
    _write(path.getFileSystem(settings), new, text)
    options = gateway.new_array(java.org.apache.hadoop.fs.Options.Rename, 1)
    options[0] = java.org.apache.hadoop.fs.Options.Rename.OVERWRITE  # `FileSystem.rename` may leave alone what is there
    context.rename(new, path, options)


def _write(files: Any, path: Any, text: str) -> None:
    stream = files.create(path, True)
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()


class RemoteFolder:
    """A folder that Spark reaches by the scheme of its URI, such as `s3a://bucket/folder`."""

    def __init__(self, spark: Any, uri: str) -> None:
        self.place, self._spark = uri, spark
        self._java = spark.sparkContext._jvm
        self._path = self._to("")
        self._files = self._path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())

    def _to(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(f"{self.place}/{name}" if name else self.place)

    def is_empty(self) -> bool:
        if not self._files.exists(self._path):
            return True
        return all(each.getPath().getName().startswith(".") for each in self._files.listStatus(self._path))

    def read(self, name: str) -> str | None:
        if not self._files.exists(self._to(name)):
            return None
        stream = self._files.open(self._to(name))
        try:
            return str(self._java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        replace_remote(self._spark, self._to(f".{name}.new"), self._to(name), text)


def claim_tables(folder: Folder, checkpoint: str) -> None:
    """Let a folder of tables be that of the stream with this checkpoint, or, where that is empty, of one run over history.

    A stream's batches are counted anew with each checkpoint, so those of two would replace each other. SpecError where there
    is something else.
    """
    try:
        owner = folder.read(_TABLES)
        if owner is None and folder.is_empty():
            if checkpoint:
                folder.write(_TABLES, checkpoint)
        elif not checkpoint:
            raise SpecError(f"`{folder.place}` is not empty: choose another folder")
        elif owner != checkpoint:
            raise SpecError(f"`{folder.place}` holds something else than tables of this checkpoint: choose another folder")
    except OSError as error:
        raise SpecError(f"cannot write tables to `{folder.place}`: {error.strerror}") from None
