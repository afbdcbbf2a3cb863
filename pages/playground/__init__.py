"""A page that runs tidelog in the browser: how it is put together, and what it runs."""
