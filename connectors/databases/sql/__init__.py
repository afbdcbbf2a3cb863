"""Databases: answers as rows of tables, and facts from queries. SQLite needs nothing more, PostgreSQL the extra `sql`."""
