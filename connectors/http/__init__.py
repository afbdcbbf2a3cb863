"""HTTP: facts in, answers out, metrics, and a page, beside a run. It needs the extra `http`, and runs on trio alone.

How a runner starts it
----------------------

For each program that runs, one `Watch`, which the engine tells what it does and the server shows::

    watch = Watch(plan, name="plant")
    engine = Engine(
        plan,
        [*sources, watch.ingest],            # a Listener: it holds back nobody, and never ends; leave it out for no POST
        [*sinks, WebhookSink(Endpoint(url, secret=…), plan.schema)],
        emit="changes",                      # the page understands every mode; with `changes` ends are exact
        on_violation=watch.violated,         # or a function that calls it
        remember=KEPT_FACTS,                 # of `watch`: so many facts; without, the page says no *why*
        observer=watch,                      # an Observer of runtime/ports: what it took, told and stored (and dead letters)
    )
    watch.attach(engine)                     # whoever has what `watched.Watched` says
    async with HttpServer([watch], HttpSettings(TcpAddress("127.0.0.1", 8080))) as server:
        watch.is_ready = True                # once its state is restored: until then `/ready` answers 503
        await engine.run()

`server.port` is the port, `server.watches` maps names to what is shown: a reload replaces an entry, or calls
`watch.replace(plan)` with the engine's new plan. `server.outboxes` maps names to the directories of outboxes.
`server.actions["reload"] = function` answers `POST /-/reload`: an async function without arguments that returns what is told
to the caller (as JSON), and raises a TidelogError where the old program goes on. `server.metrics.registry` is a
`CollectorRegistry` of prometheus-client, for what else is to be measured.

`Watch` knows of no clock but the machine's, opens nothing, and keeps a bounded amount of everything. An engine that stores
calls `observer.going_on(run, events)` once it has its state, `observer.committing(events)` before each commit and
`observer.committed(seconds)` after it, and is told to `watch.attach(engine, is_durable=True)`: then
`POST /ingest?wait=commit` is answered after the commit that has its facts; without, `wait=taken` is as far as it goes.

`HttpSettings` has the options of `[http]`, each with its meaning; it raises SpecError for what cannot be, such as an address
beyond this machine without TLS and a token. `load_token` and `load_certificate` of `connectors/transport/credentials.py`
read files.
"""

from typing import TYPE_CHECKING

from tidelog.plans.lazy import exports

if TYPE_CHECKING:
    from tidelog.connectors.http.points import PointsSink, write_url
    from tidelog.connectors.http.posting import Endpoint, Retries
    from tidelog.connectors.http.server import HttpServer
    from tidelog.connectors.http.settings import HttpSettings
    from tidelog.connectors.http.watching.devices import Devices
    from tidelog.connectors.http.watching.watch import HISTORY, KEPT_FACTS, Watch
    from tidelog.connectors.http.watching.writes import Writes
    from tidelog.connectors.http.webhook import WebhookSink

__all__ = [
    "HISTORY",
    "KEPT_FACTS",
    "Devices",
    "Endpoint",
    "HttpServer",
    "HttpSettings",
    "PointsSink",
    "Retries",
    "Watch",
    "WebhookSink",
    "Writes",
    "write_url",
]

_HOMES = {
    "points": ("PointsSink", "write_url"),
    "posting": ("Endpoint", "Retries"),
    "server": ("HttpServer",),
    "settings": ("HttpSettings",),
    "watching.devices": ("Devices",),
    "watching.watch": ("HISTORY", "KEPT_FACTS", "Watch"),
    "watching.writes": ("Writes",),
    "webhook": ("WebhookSink",),
}

if not TYPE_CHECKING:  # a checker would take it that every name is there
    __getattr__, __dir__ = exports(__name__, _HOMES)
