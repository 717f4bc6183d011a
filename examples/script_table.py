"""Scripts of a game server are rows of a database, and the agent changes them like files.

python script_table.py scripts.db "make the dragon slower"
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing

import agent_ls

TABLE = "CREATE TABLE IF NOT EXISTS scripts (name TEXT PRIMARY KEY, body BLOB, changed REAL)"


class ScriptTable(agent_ls.BasicEnvironment):
    """The rows of the table `scripts`. A change of several scripts is one transaction."""

    name = "script table"

    def __init__(self, database: str) -> None:
        super().__init__("/scripts")
        self._database = database

    async def files(self) -> Mapping[str, bytes]:
        return await asyncio.to_thread(self._read)

    async def save(self, changes: Mapping[str, bytes | None]) -> None:
        await asyncio.to_thread(self._write, changes)

    def _read(self) -> Mapping[str, bytes]:
        with closing(self._connect()) as database:
            found = database.execute("SELECT name, body FROM scripts ORDER BY changed DESC")
            rows: list[tuple[str, bytes]] = found.fetchall()
        return dict(rows)

    def _write(self, changes: Mapping[str, bytes | None]) -> None:
        with closing(self._connect()) as database, database:
            for name, body in changes.items():
                if body is None:
                    database.execute("DELETE FROM scripts WHERE name = ?", (name,))
                else:
                    row = "REPLACE INTO scripts VALUES (?, ?, julianday('now'))"
                    database.execute(row, (name, body))

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._database)
        database.execute(TABLE)
        return database


@agent_ls.tool
def players_online() -> list[str]:
    """List the players that are online now."""
    return ["ada", "grace"]


async def main(database: str, wish: str) -> None:
    place = ScriptTable(database)
    async with agent_ls.open_session(
        environment=place, mode="edits", trusted=True, tools=[players_online], stored=False
    ) as session:
        async for event in session.run(wish):
            match event:
                case agent_ls.FileChange(path=path, added=added, removed=removed):
                    print(f"{path}: +{added} -{removed}")
                case agent_ls.AssistantTextEnd(text=text):
                    print(text)
                case _:
                    pass


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
