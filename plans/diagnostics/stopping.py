"""What is raised where somebody asks a run to stop at once."""

from __future__ import annotations


class Stopped(BaseException):
    """A signal, by its `number`, has asked to stop, and what was busy has been interrupted.

    It is no Exception: what handles errors must not take it for one. What it leaves behind is not to be used any more: an
    operator may have taken half of what it was given.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)
