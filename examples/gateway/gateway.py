"""A small daemon on the engine: machines connect by TCP and send JSON lines, answers go to standard output.

    python examples/gateway/gateway.py --port 9400

and then, from another shell:

    echo '{"temp":{"machine":"press","celsius":85},"time":0}' | nc -q 1 127.0.0.1 9400

An alarm is told when it begins, `overheated(press)@[20..`, and when it is over, `overheated(press)@[20,32]`; in between
nothing is. Both are told once they are certain: once all machines that are connected have sent something later, or have been
silent for `--idle-after` seconds. So is what follows from silence, as long as one machine goes on. Each connection may have
a clock of its own. The gateway listens on this machine only, and stops cleanly on SIGINT and SIGTERM: what has been received
is still answered, and standard error tells what was done.
"""

import argparse
import signal
import sys
from pathlib import Path

import anyio

import tidelog
from tidelog.connectors import DeadLetterWriter, JsonDecoder, ListenerSource, TcpAddress, open_sink

PROGRAM = Path(__file__).with_name("gateway.tide")


async def stop_on_signal(engine: tidelog.Engine) -> None:
    """Wait for a signal, then let the engine finish what it has."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            engine.stop()


async def announce(source: ListenerSource) -> None:
    """Say where the gateway listens, as soon as it does."""
    while source.port is None:  # noqa: ASYNC110 - a source has no event for it
        await anyio.sleep(0.01)
    print(f"listening on 127.0.0.1:{source.port}", file=sys.stderr, flush=True)


async def serve(port: int, lateness: str, idle_after: float) -> None:
    """Run the gateway until it is stopped."""
    plan = tidelog.compile_path(PROGRAM)
    source = ListenerSource(TcpAddress("127.0.0.1", port), JsonDecoder(plan.schema, "gateway"))
    sink = open_sink("facts+-", plan.schema)
    async with DeadLetterWriter() as dead_letters, anyio.create_task_group() as tasks:
        engine = tidelog.Engine(
            plan,
            [source],
            [sink],
            emit="changes",
            lateness=lateness,
            idle_after=idle_after,
            dead_letters=dead_letters,
        )
        tasks.start_soon(stop_on_signal, engine)
        tasks.start_soon(announce, source)
        await engine.run()
        tasks.cancel_scope.cancel()
    intake = engine.statistics().intake
    print(f"stopped: {intake.accepted} facts accepted, {intake.late} late", file=sys.stderr)


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description="Watch machines that send JSON lines.")
    parser.add_argument("--port", type=int, default=9400, help="0 takes a free one")
    parser.add_argument("--lateness", default="2 s", help="how late readings may come")
    parser.add_argument("--idle-after", type=float, default=5, help="for how many seconds a silent machine is waited for")
    options = parser.parse_args()
    anyio.run(serve, options.port, options.lateness, options.idle_after, backend="trio")


if __name__ == "__main__":
    main()
