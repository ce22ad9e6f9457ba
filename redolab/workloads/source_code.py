"""Source code without comments: two programs that differ only in their comments are the same."""

from __future__ import annotations

from pathlib import Path


def code_alone(path: Path) -> str:
    """Return the code of a file without comments and empty lines; the file's name tells the language."""
    # Imported now: it takes longer to load than most commands to run.
    from pygments.lexers import get_lexer_for_filename
    from pygments.token import Comment

    tokens = get_lexer_for_filename(path.name).get_tokens(path.read_text())
    text = "".join(value for kind, value in tokens if kind not in Comment or kind in Comment.Preproc)
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
