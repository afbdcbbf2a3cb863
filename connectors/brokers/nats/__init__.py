"""NATS JetStream: messages of a stream to facts, each once, and answers to messages that the server knows again."""
