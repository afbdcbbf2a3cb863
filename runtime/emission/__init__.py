"""In which form answers leave: `final`, `intervals`, `changes`, `points`."""
