"""The face for programs: `import agent_ls`, a session, its events. It knows no editor and no command line."""
