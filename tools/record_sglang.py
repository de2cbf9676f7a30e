# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record the options of SGLang's server in some versions, in plugins/module_utils/releases/sglang_flags.py.

    python tools/record_sglang.py 0.5.20 0.5.23

downloads the wheel of each version (about 40 MB), without its dependencies, and reads the declarations of its arguments. Nothing is installed or run.
The file then contains these versions and no others.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
import textwrap
import typing as t
import zipfile
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "plugins/module_utils/releases/sglang_flags.py"
FIELDS, PARSER = "sglang/srt/arg_groups/fields/", "sglang/srt/server_args.py"
WIDTH = 152


def main() -> int:
    versions = sys.argv[1:]
    options = {version: download(version) for version in versions}
    if not options:
        raise SystemExit("name at least one version, such as 0.5.20")
    DATA.write_text(data_file(options), encoding="utf-8")
    print("\n".join(f"{version}: {len(names)} options" for version, names in options.items()))
    return 0


def download(version: str) -> set[str]:
    """The options of a version."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, f"sglang=={version}"], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            fields = [wheel.read(name).decode() for name in wheel.namelist() if name.startswith(FIELDS) and name.endswith(".py")]
            names = {name for text in fields for name in declared(text)} | set(added(wheel.read(PARSER).decode()))
    if "model-path=" not in names or "enable-metrics" not in names:
        raise SystemExit(f"{version} declares its arguments in another way: adapt this tool")
    return names


def declared(text: str) -> t.Iterator[str]:
    """The options of a module with declarations `name: A[type, ...] = default`; with a final `=` where they take a value."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name) or not isinstance(node.annotation, ast.Subscript):
            continue
        if ast.unparse(node.annotation.value) not in ("A", "Annotated") or not isinstance(node.annotation.slice, ast.Tuple):
            continue
        kind, metadata = node.annotation.slice.elts[:2]
        words = {word.arg: word.value for word in metadata.keywords} if isinstance(metadata, ast.Call) else {}
        if "no_cli" in words:
            continue
        # A custom action decides whether a value follows.
        takes = "" if ast.unparse(kind).removeprefix("Optional[").rstrip("]") == "bool" else "?" if "action" in words else "="
        given = ast.literal_eval(words["cli_name"]) if "cli_name" in words else f"--{node.target.id.replace('_', '-')}"
        for name in (given, *(ast.literal_eval(words["aliases"]) if "aliases" in words else ())):
            yield name.removeprefix("--") + takes


def added(text: str) -> t.Iterator[str]:
    """The options that the parser itself adds."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "parser.add_argument":
            action = next((ast.unparse(word.value) for word in node.keywords if word.arg == "action"), "")
            yield ast.literal_eval(node.args[0]).removeprefix("--") + ("" if "rue" in action else "?" if action else "=")


def data_file(options: dict[str, set[str]]) -> str:
    """The text of the data file: the options that all versions share, and the additional ones of each version."""
    parts = {"": set.intersection(*options.values())}
    parts |= {version: names - parts[""] for version, names in options.items()}
    rows = [(version, textwrap.wrap(" ".join(sorted(names)), WIDTH, break_long_words=False, break_on_hyphens=False)) for version, names in parts.items()]
    return _HEAD + "".join(f'    "{version}": """\n' + "\n".join(lines) + '\n""",\n' for version, lines in rows) + "}\n"


_HEAD = '''\
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of SGLang's server in several versions, from their source. Data only; written by tools/record_sglang.py, not by hand.

{version: names without dashes}. "" has the options that all versions share, a version has its additional ones. A name that ends in `=` takes a value; one that
ends in `?` has a parser of its own (argparse action), which may take a value; all others are flags without a value.
"""

from __future__ import annotations

OPTIONS = {
'''


if __name__ == "__main__":
    sys.exit(main())
