"""What the gateway tells by OTLP, where asked: the figures of `/metrics`, and traces. It needs the extra `otel`."""
