"""What service.tide beside it says, by hand; events come in order, and `begun` is called once a second."""

from __future__ import annotations

from collections import defaultdict, deque


class Watch:
    """Jobs, workers and a queue, each with what has to be remembered."""

    def __init__(self) -> None:
        self.started: dict[str, int] = {}
        self.failures: defaultdict[str, deque[int]] = defaultdict(deque)
        self.tripped: set[str] = set()
        self.long_since: int | None = None
        self.is_crowded = False

    def push(self, event: str, *row: str | int, at: int) -> None:
        """Something happened."""
        match event, row:
            case "started", (str(job),):
                self.started[job] = at
            case "ended", (str(job),):
                self.started.pop(job, None)
            case "failed", (str(worker),):
                self.failures[worker].append(at)
            case "queue", (int(length),):
                if length <= 100:
                    self.long_since, self.is_crowded = None, False
                elif self.long_since is None:
                    self.long_since = at

    def begun(self, now: int) -> list[str]:
        """The alarms that begin now."""
        found = []
        for job, at in [*self.started.items()]:
            if at + 30 <= now:
                found.append(f"stuck({job})")
                del self.started[job]
        for worker, times in self.failures.items():
            while times and times[0] < now - 60:
                times.popleft()
            if len(times) < 3:
                self.tripped.discard(worker)
            elif worker not in self.tripped:
                self.tripped.add(worker)
                found.append(f"tripped({worker})")
        if self.long_since is not None and not self.is_crowded and self.long_since + 60 <= now:
            self.is_crowded = True
            found.append("crowded")
        return found
