"""Services of messages: webhooks with a body of their own. Each takes a text, by a template, and cuts it to its limit."""
