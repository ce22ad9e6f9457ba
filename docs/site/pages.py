"""Hook of MkDocs: the site has README, docs/, and every file that their pages link to, each at its path in the repository.

A relative link that holds on GitHub therefore holds in the site as it is, also one that leads out of docs/.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

_CLONE = Path(__file__).parents[2]
_WORKER = "docs/site/iframe-worker.js"
_MARKDOWN = MarkdownIt("commonmark").enable("table")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the files of docs/ by the pages and all that they link to, and add the calculator; the theme's stay."""
    docs = Path(config.docs_dir)
    of_theme = [file for file in files if file.src_dir is None or not Path(file.src_dir).is_relative_to(docs)]
    of_site = {
        path.relative_to(_CLONE).as_posix(): path for path in _reached([_CLONE / "README.md", *docs.rglob("*.md")])
    }
    of_site[_WORKER] = _CLONE / _WORKER
    calculator = Path(config.extra["calculator"])
    if not calculator.is_file():
        raise PluginError(f"there is no calculator, {calculator}: 'make report' makes it, and 'make site' does both")
    of_site["calculator.html"] = calculator
    return Files(
        [*of_theme, *(File.generated(config, uri, abs_src_path=str(path)) for uri, path in sorted(of_site.items()))]
    )


def _reached(pages: list[Path]) -> set[Path]:
    """Return the pages and every file that can be reached from them by relative links."""
    reached: set[Path] = set()
    left = list(pages)
    while left:
        path = left.pop()
        if path not in reached and path.is_file():
            reached.add(path)
            if path.suffix == ".md":
                left += _linked(path)
    return reached


def _linked(page: Path) -> list[Path]:
    """Return what a page's relative links and pictures name."""
    inline = (child for token in _MARKDOWN.parse(page.read_text()) for child in token.children or ())
    targets = (urlsplit(str(child.attrGet("href") or child.attrGet("src") or "")) for child in inline)
    return [(page.parent / unquote(at.path)).resolve() for at in targets if at.path and not at.scheme]
